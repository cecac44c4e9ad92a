// Draws the page's figures in the colours of the day, and again when the day or the paper changes.
const figures = JSON.parse(document.getElementById("figures").textContent);
const phone = matchMedia("(max-width: 600px)");

// A layout with what a figure has otherwise on a phone.
function laidOut({layout, phone: other = {}}) {
  return structuredClone({...layout, ...(phone.matches ? other : {})});
}

function decorated(whole) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim(), line = style.getPropertyValue("--line").trim();
  Object.assign(whole, {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {color: ink, size: 13},
    margin: {l: phone.matches ? 10 : 60, r: 20, t: 20, b: 50},
    // At the figure's foot: by shares of the plot's height it would lie far below a high one.
    legend: {orientation: "h", yref: "container", y: 0, yanchor: "bottom"},
  });
  whole.xaxis.title.standoff = 4;
  for (const axis of ["xaxis", "yaxis"]) Object.assign(whole[axis], {gridcolor: line, zerolinecolor: line, automargin: true});
  return whole;
}

function plot(name, figure) {
  const options = {responsive: true, displaylogo: false, displayModeBar: false};
  Plotly.react(name, figure.data, decorated(laidOut(figure)), options);
}

function draw() {
  for (const [name, figure] of Object.entries(figures)) if (figure.data) plot(name, figure);
  if (figures.plane) drawPlane();
}

// Any score of several runs against any other: two lists to choose from.
function drawPlane() {
  const {models, scores} = figures.plane;
  const chosen = ["across", "up"].map((id) => scores[document.getElementById(id).value]);
  const shown = models.map((_, n) => n).filter((n) => chosen.every((score) => score.values[n] !== null));
  const [x, y] = chosen.map((score) => shown.map((n) => score.values[n]));
  const axis = (score) => ({title: {text: score.title}, type: score.log ? "log" : "linear", automargin: true});
  plot("plane", {
    data: [{type: "scatter", mode: "markers+text", x, y, text: shown.map((n) => models[n]),
      textposition: "top center", marker: {size: 12, color: "#0072B2"}, cliponaxis: false,
      hovertemplate: "%{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>"}],
    layout: {xaxis: axis(chosen[0]), yaxis: axis(chosen[1]), height: 420, showlegend: false},
  });
}

draw();
for (const id of ["across", "up"]) document.getElementById(id)?.addEventListener("change", drawPlane);
for (const media of [matchMedia("(prefers-color-scheme: dark)"), matchMedia("print"), phone]) media.addEventListener("change", draw);
// A figure in a folded part has no width until the part is opened.
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", () => {
  for (const figure of part.querySelectorAll(".js-plotly-plot")) Plotly.Plots.resize(figure);
});
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.screen)").forEach((one) => { one.open = true; }));
