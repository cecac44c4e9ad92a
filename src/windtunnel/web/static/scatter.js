// A scatter plot of any score against any other, drawn as SVG.
import {change, fillSelect, later, matchesRun, parameters} from "./address.js";
import {byId, counted, element, fill} from "./dom.js";
import {get, withQuery} from "./requests.js";
import {run as start} from "./session.js";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 800;
const HEIGHT = 480;
const LEFT = 70;
const BOTTOM = 56;
const TOP = 16;
const RIGHT = 24;
const TICKS = 6;

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Round numbers between two ends. */
export function ticksOf(low, high) {
  const raw = (high - low || Math.abs(high) || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; n += 1) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
}

/** From values to a length, with some room at both ends. */
function scaleOf(values, from, to) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  const [first, last] = [low - room, high + room];
  return {ticks: ticksOf(first, last), place: (value) => from + ((value - first) / (last - first)) * (to - from)};
}

function plot(points, xTitle, yTitle) {
  const x = scaleOf(points.flatMap((point) => point.x), LEFT, WIDTH - RIGHT);
  const y = scaleOf(points.flatMap((point) => point.y), HEIGHT - BOTTOM, TOP);
  const grid = [
    ...x.ticks.map((tick) => [svg("line", {x1: x.place(tick), x2: x.place(tick), y1: TOP, y2: HEIGHT - BOTTOM}),
      svg("text", {x: x.place(tick), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle"}, String(tick))]),
    ...y.ticks.map((tick) => [svg("line", {x1: LEFT, x2: WIDTH - RIGHT, y1: y.place(tick), y2: y.place(tick)}),
      svg("text", {x: LEFT - 8, y: y.place(tick) + 4, "text-anchor": "end"}, String(tick))]),
  ].flat();
  // Runs of one model are told apart by their folders.
  const models = points.map(({run}) => run.model);
  const names = new Map(points.map(({run}) => [run, models.filter((model) => model === run.model).length > 1 ? run.run : run.model]));
  const dots = points.map(({run, x: [value, low, high], y: [other, least, most]}) => {
    const right = x.place(value) > WIDTH - 160;
    const text = `${run.model}, ${run.run}: ${value.toPrecision(4)}, ${other.toPrecision(4)}`;
    const link = svg("a", {href: withQuery("/images", {run: run.run}), "aria-label": text});
    link.append(
      svg("title", {}, text),
      svg("path", {class: "interval", d: `M${x.place(low)} ${y.place(other)}H${x.place(high)}M${x.place(value)} ${y.place(least)}V${y.place(most)}`}),
      svg("circle", {cx: x.place(value), cy: y.place(other), r: 6}),
      svg("text", {class: "name", x: x.place(value) + (right ? -9 : 9), y: y.place(other) - 8, "text-anchor": right ? "end" : "start"}, names.get(run)),
    );
    return link;
  });
  return svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `${yTitle} against ${xTitle}`},
    svg("g", {class: "grid-lines"}, ...grid), svg("g", {class: "dots"}, ...dots),
    svg("text", {x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 10, "text-anchor": "middle", class: "axis"}, xTitle),
    svg("text", {transform: `translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis"}, yTitle));
}

start(async () => {
  const {runs, axes} = await get("/api/runs");
  const given = parameters();
  byId("query").value = given.get("query") ?? "";
  fillSelect(byId("x"), axes, given.get("x") ?? "top1_error clean");
  fillSelect(byId("y"), axes, given.get("y") ?? axes[0]?.key);
  const title = (id) => axes.find(({key}) => key === byId(id).value)?.title ?? "";

  function show() {
    const [x, y] = [byId("x").value, byId("y").value];
    const points = runs.filter((run) => matchesRun(run, byId("query").value) && run.scores[x] && run.scores[y])
      .map((run) => ({run, x: run.scores[x], y: run.scores[y]}));
    fill(byId("plot"), points.length ? plot(points, title("x"), title("y")) : element("p", {}, "No run has both scores."));
    byId("caption").textContent = `${counted(points.length, "run")} with both scores; lines are 95 % confidence intervals.`;
    fill(byId("values"), element("thead", {}, element("tr", {}, ["Run", title("x"), title("y")].map((text) => element("th", {scope: "col"}, text)))),
      element("tbody", {}, points.map((point) => element("tr", {}, element("td", {}, point.run.run),
        element("td", {}, point.x[0].toPrecision(4)), element("td", {}, point.y[0].toPrecision(4))))));
    change({x, y, query: byId("query").value});
  }

  show();
  for (const id of ["x", "y"]) byId(id).addEventListener("change", show);
  byId("query").addEventListener("input", later(show));
  byId("axes").addEventListener("submit", (event) => event.preventDefault());
});
