// One image under a condition next to the unmodified one, and what each model predicted.
import {change, fillSelect, parameters} from "./address.js";
import {byId, element, fill} from "./dom.js";
import {get, withQuery} from "./requests.js";
import {newest, run as start} from "./session.js";
import {Viewer} from "./viewer.js";

const UNMODIFIED = ["clean", "native"];

function row({run, model, best, correct, problem}) {
  const sign = correct === null ? "" : correct ? "✓ " : "✗ ";
  const percent = ({probability}) => (probability === null ? "" : ` ${(100 * probability).toFixed(1)} %`);
  const first = best[0] ? `${sign}${best[0].class}${percent(best[0])}` : problem;
  return element("tr", {}, element("th", {scope: "row"}, model), element("td", {}, run),
    element("td", {class: correct === null ? "" : correct ? "good" : "bad"}, first),
    element("td", {class: "soft"}, best.slice(1).map((one) => `${one.class}${percent(one)}`).join(", ")));
}

start(async () => {
  const given = parameters();
  const key = given.get("run") ?? "";
  const viewer = new Viewer(byId("stage"));
  let place = Number(given.get("row") ?? 0);
  let condition = given.get("condition") ?? "clean";
  let frame = Number(given.get("frame") ?? 0);

  const pixels = (name, number) => withQuery("/pixels", {run: key, row: place, condition: name, frame: number});

  const latest = newest();
  async function show() {
    const found = await latest(() => get(withQuery("/api/image", {run: key, row: place, condition, frame})));
    if (!found) return;
    byId("name").textContent = found.image;
    byId("label").textContent = `Label: ${found.label || "none"}. Run: ${key}. ${found.note}`;
    fillSelect(byId("condition"), found.conditions.map((name) => ({key: name, title: name})), condition);
    byId("frame-label").hidden = found.frames < 2;
    Object.assign(byId("frame"), {max: found.frames - 1, value: frame});
    const unmodified = UNMODIFIED.find((name) => found.conditions.includes(name) && name !== condition);
    viewer.show([
      ...(unmodified && !UNMODIFIED.includes(condition) ? [{url: pixels(unmodified, 0), title: unmodified, alt: `${found.image}, ${unmodified}`}] : []),
      {url: pixels(condition, frame), title: found.frames > 1 ? `${condition}, frame ${frame}` : condition, alt: `${found.image} under ${condition}`},
    ]);
    byId("stage").removeAttribute("aria-busy");
    fill(byId("predictions"),
      element("caption", {class: "visually-hidden"}, "Predictions of each model"),
      element("thead", {}, element("tr", {}, ["Model", "Run", "Predicted class", "Next best classes"].map((text) => element("th", {scope: "col"}, text)))),
      element("tbody", {}, found.predictions.map(row)));
    byId("previous").disabled = place === 0;
    byId("next").disabled = place >= found.rows - 1;
    byId("all").href = withQuery("/images", {run: key, condition});
    document.title = `${found.image}, ${condition} · windtunnel`;
    change({row: place, condition, frame: frame || ""});
  }

  byId("condition").addEventListener("change", () => {
    condition = byId("condition").value;
    frame = 0;
    show();
  });
  byId("frame").addEventListener("change", () => {
    frame = Number(byId("frame").value);
    show();
  });
  byId("choices").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => {
    place -= 1;
    show();
  });
  byId("next").addEventListener("click", () => {
    place += 1;
    show();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "f") viewer.flip();
    if (event.key === "g") viewer.sideBySide();
  });
  await show();
});
