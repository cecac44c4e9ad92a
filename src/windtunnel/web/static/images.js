// The images of a run under a condition.
import {change, fillSelect, later, parameters} from "./address.js";
import {byId, count, element, fill} from "./dom.js";
import {get, withQuery} from "./requests.js";
import {newest, run as start} from "./session.js";

const PAGE = 48;

function tile(image, run, condition) {
  const predicted = `${image.predicted}${image.confidence === null ? "" : `, ${(100 * image.confidence).toFixed(0)} %`}`;
  return element("li", {}, element("a", {class: "button tile", href: withQuery("/image", {run, row: image.row, condition}),
    "data-verdict": image.correct ? "correct" : "wrong"},
    element("img", {src: withQuery("/pixels", {run, row: image.row, condition}), alt: `${image.image}, label ${image.label}`, loading: "lazy"}),
    element("span", {}, image.label || "no label"),
    element("span", {class: `verdict ${image.correct ? "good" : "bad"}`}, `${image.correct ? "✓" : "✗"} ${predicted}`),
    element("span", {class: "soft id"}, image.image)));
}

start(async () => {
  const given = parameters();
  const key = given.get("run") ?? "";
  document.querySelector("h1").textContent = `Images of ${key}`;
  document.title = `Images of ${key} · windtunnel`;
  byId("shown").value = given.get("shown") ?? "all";
  byId("query").value = given.get("query") ?? "";
  let first = Number(given.get("start") ?? 0);
  let condition = given.get("condition") ?? "";

  const latest = newest();
  async function show() {
    const found = await latest(() => get(withQuery("/api/images", {
      run: key, condition, shown: byId("shown").value, query: byId("query").value, start: first, count: PAGE})));
    if (!found) return;
    ({condition} = found);
    fillSelect(byId("condition"), found.conditions.map((name) => ({key: name, title: name})), condition);
    fill(byId("images"), found.images.map((image) => tile(image, key, condition)));
    byId("images").removeAttribute("aria-busy");
    const last = first + found.images.length;
    byId("count").textContent = found.total ? `${count(first + 1)} to ${count(last)} of ${count(found.total)} images` : "No image matches.";
    byId("previous").disabled = first === 0;
    byId("next").disabled = last >= found.total;
    change({condition, shown: byId("shown").value === "all" ? "" : byId("shown").value, query: byId("query").value, start: first || ""});
  }

  const again = () => {
    first = 0;
    return show();
  };
  byId("condition").addEventListener("change", () => {
    condition = byId("condition").value;
    again();
  });
  byId("shown").addEventListener("change", again);
  byId("query").addEventListener("input", later(again));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => {
    first = Math.max(0, first - PAGE);
    show();
  });
  byId("next").addEventListener("click", () => {
    first += PAGE;
    show();
  });
  await show();
});
