// The list of runs: filtered, sorted, chosen for a comparison.
import {change, fillSelect, later, matchesRun, parameters} from "./address.js";
import {byId, count, counted, element, fill} from "./dom.js";
import {get, withQuery} from "./requests.js";
import {run as start} from "./session.js";

const COLUMNS = [
  {key: "run", title: "Folder"}, {key: "model", title: "Model"}, {key: "data", title: "Data"}, {key: "suite", title: "Suite"},
  {key: "images", title: "Images", number: true}, {key: "time", title: "Created", number: true},
];

/** A score with its interval. */
function scoreText(score, axis) {
  if (!score) return "–";
  const [value, low, high] = score.map((part) => part.toFixed(axis.decimals));
  return `${value} (${low} to ${high})`;
}

class List {
  constructor({runs, axes}) {
    Object.assign(this, {runs, axes});
    const given = parameters();
    byId("query").value = given.get("query") ?? "";
    fillSelect(byId("score"), axes, given.get("score"));
    this.sort = given.get("sort") ?? "time";
    this.down = (given.get("down") ?? (this.sort === "time" ? "1" : "0")) === "1";
    this.chosen = new Set(given.getAll("run").filter((key) => runs.some((run) => run.run === key)));
  }

  get score() {
    return byId("score").value;
  }

  get axis() {
    return this.axes.find(({key}) => key === this.score);
  }

  value(run) {
    if (this.sort === "score") return run.scores[this.score]?.[0] ?? Infinity;
    return run[this.sort];
  }

  get shown() {
    const sign = this.down ? -1 : 1;
    const order = (a, b) => (this.value(a) < this.value(b) ? -sign : this.value(a) > this.value(b) ? sign : 0);
    return this.runs.filter((run) => matchesRun(run, byId("query").value)).sort(order);
  }

  sortBy(key) {
    this.down = this.sort === key ? !this.down : false;
    this.sort = key;
    this.show();
  }

  head(key, title, number) {
    const sorted = this.sort === key ? (this.down ? "descending" : "ascending") : "none";
    const arrow = {ascending: " ↑", descending: " ↓", none: ""}[sorted];
    return element("th", {scope: "col", class: number ? "number" : "", "aria-sort": sorted},
      element("button", {type: "button", "data-sort": key, onclick: () => this.sortBy(key)}, title, arrow));
  }

  row(run) {
    const box = element("input", {type: "checkbox", "aria-label": `Select ${run.run}`, onchange: (event) => this.choose(run.run, event.target.checked)});
    box.checked = this.chosen.has(run.run);
    const cells = COLUMNS.map(({key, number}) => element("td", {class: number ? "number" : ""},
      key === "images" ? count(run.images) : key === "time" ? run.time.slice(0, 16).replace("T", " ") : run[key]));
    const links = [
      run.report ? element("a", {href: withQuery("/report", {run: run.run}), target: "_blank", rel: "noopener"}, "Report") : null,
      run.model ? element("a", {href: withQuery("/images", {run: run.run})}, "Images") : null,
    ];
    return element("tr", {}, element("td", {class: "select"}, element("label", {}, box)), cells,
      element("td", {class: "number"}, run.problem ? element("span", {class: "soft"}, run.problem) : scoreText(run.scores[this.score], this.axis)),
      element("td", {class: "links"}, run.warnings ? element("span", {class: "bad"}, counted(run.warnings, "warning")) : null, links));
  }

  choose(key, on) {
    if (on) this.chosen.add(key);
    else this.chosen.delete(key);
    this.showChosen();
  }

  showChosen() {
    const keys = [...this.chosen];
    byId("compare").disabled = keys.length < 2;
    byId("compare").textContent = keys.length < 2 ? "Compare (select two or more)" : `Compare ${keys.length} runs`;
    const present = parameters();
    present.delete("run");
    for (const key of keys) present.append("run", key);
    history.replaceState(null, "", present.size ? `?${present}` : "/");
  }

  show() {
    const focused = document.activeElement?.dataset?.sort;
    const {shown} = this;
    const title = this.axis?.title ?? "Score";
    fill(byId("runs"),
      element("caption", {class: "visually-hidden"}, "Runs"),
      element("thead", {}, element("tr", {}, element("th", {scope: "col"}, element("span", {class: "visually-hidden"}, "Select")),
        COLUMNS.map(({key, title: name, number}) => this.head(key, name, number)), this.head("score", title, true),
        element("th", {scope: "col"}, "Open"))),
      element("tbody", {}, shown.map((run) => this.row(run))));
    byId("runs").removeAttribute("aria-busy");
    byId("count").textContent = `${count(shown.length)} of ${counted(this.runs.length, "run")}`;
    change({query: byId("query").value, score: this.score, sort: this.sort, down: this.down ? "1" : "0"});
    byId("scatter").href = withQuery("/scatter", {query: byId("query").value});
    if (focused) document.querySelector(`[data-sort="${focused}"]`)?.focus();
    this.showChosen();
  }
}

start(async () => {
  const list = new List(await get("/api/runs"));
  list.show();
  byId("query").addEventListener("input", later(() => list.show()));
  byId("score").addEventListener("change", () => list.show());
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("compare").addEventListener("click", () => {
    open(`/compare?${new URLSearchParams([...list.chosen].map((key) => ["run", key]))}`, "_blank", "noopener");
  });
});
