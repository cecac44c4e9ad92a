// A scatter plot of any score against any other, drawn as SVG.
import {change, fillSelect, later, matchesRun, parameters} from "./address.js";
import {byId, counted, element, fill} from "./dom.js";
import {get, withQuery} from "./requests.js";
import {run as start} from "./session.js";

const SPACE = "http://www.w3.org/2000/svg";
const NARROWEST = 300;
const WIDEST = 960;
const LINE = 15;
const LETTER = 7;
const LEFT = 70;
const BOTTOM = 56;
const TOP = 16;
const RIGHT = 24;
const PIXELS_PER_TICK = 90;

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Round numbers between two ends. */
function ticksOf(low, high, number) {
  const raw = (high - low || Math.abs(high) || 1) / number;
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
  const number = Math.max(2, Math.floor(Math.abs(to - from) / PIXELS_PER_TICK));
  return {ticks: ticksOf(first, last, number), place: (value) => from + ((value - first) / (last - first)) * (to - from)};
}

/** A function that returns the place of a name next to a point; names that would overlap are moved down. */
function placer(width) {
  const taken = [];
  return (name, x, y) => {
    const length = name.length * LETTER;
    const right = x + 9 + length > width;
    const start = right ? x - 9 - length : x + 9;
    const overlaps = (at) => taken.some((other) => Math.abs(other.y - at) < LINE && other.start < start + length && start < other.end);
    let at = y - 8;
    while (overlaps(at)) at += LINE;
    taken.push({y: at, start, end: start + length});
    return {x: x + (right ? -9 : 9), y: at, "text-anchor": right ? "end" : "start"};
  };
}

/** The plot, drawn for a width in pixels, so that its text has the size of other text. */
function plot(points, xTitle, yTitle, width) {
  const height = Math.round(Math.max(300, width * 0.6));
  const x = scaleOf(points.flatMap((point) => point.x), LEFT, width - RIGHT);
  const y = scaleOf(points.flatMap((point) => point.y), height - BOTTOM, TOP);
  const grid = [
    ...x.ticks.map((tick) => [svg("line", {x1: x.place(tick), x2: x.place(tick), y1: TOP, y2: height - BOTTOM}),
      svg("text", {x: x.place(tick), y: height - BOTTOM + 18, "text-anchor": "middle"}, String(tick))]),
    ...y.ticks.map((tick) => [svg("line", {x1: LEFT, x2: width - RIGHT, y1: y.place(tick), y2: y.place(tick)}),
      svg("text", {x: LEFT - 8, y: y.place(tick) + 4, "text-anchor": "end"}, String(tick))]),
  ].flat();
  // Runs of one model are told apart by their folders.
  const models = points.map(({run}) => run.model);
  const names = new Map(points.map(({run}) => [run, models.filter((model) => model === run.model).length > 1 ? run.run : run.model]));
  const place = placer(width);
  const dots = points.map(({run, x: [value, low, high], y: [other, least, most]}) => {
    const text = `${run.model}, ${run.run}: ${value.toPrecision(4)}, ${other.toPrecision(4)}`;
    const link = svg("a", {href: withQuery("/images", {run: run.run}), "aria-label": text});
    link.append(
      svg("title", {}, text),
      svg("path", {class: "interval", d: `M${x.place(low)} ${y.place(other)}H${x.place(high)}M${x.place(value)} ${y.place(least)}V${y.place(most)}`}),
      svg("circle", {cx: x.place(value), cy: y.place(other), r: 6}),
      svg("text", {class: "name", ...place(names.get(run), x.place(value), y.place(other))}, names.get(run)),
    );
    return link;
  });
  return svg("svg", {width, height, role: "group", "aria-label": `${yTitle} against ${xTitle}`},
    svg("g", {class: "grid-lines"}, ...grid), svg("g", {class: "dots"}, ...dots),
    svg("text", {x: (LEFT + width - RIGHT) / 2, y: height - 10, "text-anchor": "middle", class: "axis"}, xTitle),
    svg("text", {transform: `translate(16 ${(TOP + height - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis"}, yTitle));
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
    const width = Math.min(WIDEST, Math.max(NARROWEST, byId("plot").clientWidth));
    fill(byId("plot"), points.length ? plot(points, title("x"), title("y"), width) : element("p", {}, "No run has both scores."));
    byId("caption").textContent = `${counted(points.length, "run")} with both scores; lines are 95 % confidence intervals.`;
    fill(byId("values"), element("thead", {}, element("tr", {}, ["Run", title("x"), title("y")].map((text) => element("th", {scope: "col"}, text)))),
      element("tbody", {}, points.map((point) => element("tr", {}, element("td", {}, point.run.run),
        element("td", {}, point.x[0].toPrecision(4)), element("td", {}, point.y[0].toPrecision(4))))));
    change({x, y, query: byId("query").value});
  }

  show();
  for (const id of ["x", "y"]) byId(id).addEventListener("change", show);
  byId("query").addEventListener("input", later(show));
  addEventListener("resize", later(show));
  byId("axes").addEventListener("submit", (event) => event.preventDefault());
});
