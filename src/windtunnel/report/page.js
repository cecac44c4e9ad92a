// Draws the page's figures in the current colour scheme, and again when the scheme, the width or the medium changes.
const figures = JSON.parse(document.getElementById("figures").textContent);
const phone = matchMedia("(max-width: 600px)");

// The layout of a figure, with its changes for a phone.
function layoutOf({layout, phone: changes = {}}) {
  return structuredClone({...layout, ...(phone.matches ? changes : {})});
}

// Adds colours, margins and the legend to a layout.
function styled(layout) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim(), line = style.getPropertyValue("--line").trim();
  Object.assign(layout, {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {color: ink, size: 13},
    margin: {l: phone.matches ? 10 : 60, r: 20, t: 20, b: 50},
    // Relative to the figure: relative to the plot, the legend would be far below a tall one.
    legend: {...layout.legend, orientation: "h", yref: "container", y: 0, yanchor: "bottom"},
  });
  layout.xaxis.title.standoff = 4;
  for (const axis of ["xaxis", "yaxis"]) Object.assign(layout[axis], {gridcolor: line, zerolinecolor: line, automargin: true});
  return layout;
}

function plot(name, figure) {
  const options = {responsive: true, displaylogo: false, displayModeBar: false};
  Plotly.react(name, figure.data, styled(layoutOf(figure)), options);
}

function draw() {
  for (const [name, figure] of Object.entries(figures)) if (figure.data) plot(name, figure);
  if (figures.score_plane) drawScorePlane();
}

// Scatter plot of two scores that the reader selects.
function drawScorePlane() {
  const {models, scores} = figures.score_plane;
  const chosen = ["x_score", "y_score"].map((id) => scores[document.getElementById(id).value]);
  const shown = models.map((_, n) => n).filter((n) => chosen.every((score) => score.values[n] !== null));
  const [x, y] = chosen.map((score) => shown.map((n) => score.values[n]));
  const axis = (score) => ({title: {text: score.title}, type: score.log ? "log" : "linear", automargin: true});
  plot("score_plane", {
    data: [{type: "scatter", mode: "markers+text", x, y, text: shown.map((n) => models[n]),
      textposition: "top center", marker: {size: 12, color: "#0072B2"}, cliponaxis: false,
      hovertemplate: "%{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>"}],
    layout: {xaxis: axis(chosen[0]), yaxis: axis(chosen[1]), height: 420, showlegend: false},
  });
}

draw();
for (const id of ["x_score", "y_score"]) document.getElementById(id)?.addEventListener("change", drawScorePlane);
for (const media of [matchMedia("(prefers-color-scheme: dark)"), matchMedia("print"), phone]) media.addEventListener("change", draw);
// A figure in a closed <details> has no width until it is opened.
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", () => {
  for (const figure of part.querySelectorAll(".js-plotly-plot")) Plotly.Plots.resize(figure);
});
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.screen)").forEach((part) => { part.open = true; }));
