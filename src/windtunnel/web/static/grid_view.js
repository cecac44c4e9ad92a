// The view of a grid: one page of images; keys judge the current one.
import {byId, element, fill} from "./dom.js";
import {describe} from "./verdict_text.js";

export const PAGE = 24;

/** The first place of the page that a place is on. */
const pageOf = (place) => place - (place % PAGE);

/** The classes of an item in words. */
const named = ({labels, titles}) => labels.map((label) => titles[label]).join(", ");

/** A page of items as tiles. The current tile is the one that verdicts are given to. */
export class GridView {
  constructor(stage, task) {
    Object.assign(this, {stage, task, tiles: new Map(), start: -1, desk: null});
    stage.className = "grid";
    stage.setAttribute("role", "group");
    stage.setAttribute("aria-label", "Images");
    for (const id of ["zoom-in", "zoom-out", "zoom-reset"]) byId(id).hidden = true;
    byId("enlarge").hidden = false;
    byId("enlarge").onclick = () => this.enlarge();
    this.large = element("dialog", {class: "large", "aria-label": "Enlarged image"});
    document.body.append(this.large);
    this.large.addEventListener("click", () => this.large.close());
    this.large.addEventListener("keydown", (event) => {
      if (event.key === "e" || event.key === "Enter") this.large.close();
    });
  }

  async show(desk) {
    this.desk = desk;
    const start = pageOf(desk.place);
    // Tiles that cannot be loaded now are added when the page is shown again.
    await desk.queue.at(start).catch(() => null);
    await desk.queue.at(Math.min(start + PAGE - 1, Math.max(desk.queue.length - 1, 0))).catch(() => null);
    if (pageOf(desk.place) !== start) return; // the person went on meanwhile
    const items = desk.queue.loaded(start, PAGE);
    const shown = items.map(({item}) => item).join(" ");
    if (this.shown !== shown) {
      this.shown = shown;
      this.tiles = new Map(items.map((item) => [item.place, this.tile(item)]));
      fill(this.stage, ...this.tiles.values());
      this.stage.scrollTop = 0;
    }
    for (const item of items) this.mark(item, desk);
    desk.queue.preloader.load(desk.queue.loaded(start, 2 * PAGE));
  }

  tile(item) {
    return element(
      "button",
      {type: "button", class: "tile", "data-place": item.place, onclick: () => this.desk.go(item.place), ondblclick: () => this.enlarge()},
      element("img", {src: item.media[0].url, alt: named(item) || "Image to judge", loading: "eager", decoding: "async"}),
      item.labels.length ? element("span", {}, named(item)) : null,
      element("span", {class: "verdict"}),
    );
  }

  mark(item, desk) {
    const tile = this.tiles.get(item.place);
    const verdict = desk.verdictOf(item);
    tile.dataset.verdict = verdict?.choice ?? "";
    tile.querySelector(".verdict").textContent = verdict ? describe(verdict, this.task) : item.closed ? "Judged by other reviewers" : "";
    const current = item.place === desk.place;
    tile.setAttribute("aria-current", String(current));
    tile.tabIndex = current ? 0 : -1;
    if (current) {
      if (this.stage.contains(document.activeElement)) tile.focus({preventScroll: true});
      tile.scrollIntoView({block: "nearest"});
    }
  }

  get current() {
    return this.tiles.get(this.desk.place);
  }

  get ready() {
    return this.current?.querySelector("img").complete ?? false;
  }

  /** Whether the current image cannot be loaded. */
  get failed() {
    const image = this.current?.querySelector("img");
    return Boolean(image?.complete && !image.naturalWidth);
  }

  async whenReady() {
    await this.current?.querySelector("img").decode().catch(() => null);
  }

  get columns() {
    return getComputedStyle(this.stage).gridTemplateColumns.split(" ").length;
  }

  enlarge() {
    const image = this.current?.querySelector("img");
    if (!image) return;
    fill(this.large, element("img", {src: image.src, alt: image.alt}), element("button", {type: "button", autofocus: true}, "Close"));
    this.large.showModal();
  }

  actions() {
    return [
      {keys: ["ArrowUp"], label: "Row above", run: () => this.desk.go(this.desk.place - this.columns), repeats: true},
      {keys: ["ArrowDown"], label: "Row below", run: () => this.desk.go(Math.min(this.desk.place + this.columns, this.desk.queue.length - 1)), repeats: true},
      {keys: ["e"], label: "Enlarge", run: () => this.enlarge()},
    ];
  }
}
