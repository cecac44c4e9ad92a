// One image, or two images side by side or in the same place, with one zoom and pan for both.
import {announce, element, fill} from "./dom.js";

const LARGEST = 16;
const STEP = 1.25;
const PAN_PER_CENT = 15;

/** Images {url, title, alt} in a stage. */
export class Viewer {
  constructor(stage) {
    Object.assign(this, {stage, images: [], panes: [], shown: 0, inPlace: false, pointers: new Map()});
    this.reset();
    stage.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    stage.addEventListener("dblclick", (event) => event.target.closest(".frame") && this.reset());
    for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
      stage.addEventListener(name, (event) => this[name](event));
    }
  }

  /** Show other images; the zoom starts again, and two images stay in the chosen arrangement. */
  show(images) {
    this.images = images;
    this.panes = images.map(({url, title, alt}) => {
      const image = element("img", {src: url, alt, draggable: "false", decoding: "async"});
      const frame = element("div", {class: "frame"}, image);
      image.addEventListener("error", () => {
        fill(frame, element("p", {class: "missing", role: "alert"}, "This image cannot be loaded. The page tries again when you return to it."));
      });
      return element("figure", {class: "pane"}, frame, title ? element("figcaption", {}, title) : null);
    });
    this.shown = 0;
    fill(this.stage, this.panes);
    this.reset();
    this.arrange();
  }

  /** Whether every image has been loaded. */
  get loaded() {
    return this.panes.every((pane) => pane.querySelector("img")?.complete ?? true);
  }

  /** Whether an image cannot be loaded. */
  get failed() {
    const images = this.panes.map((pane) => pane.querySelector("img"));
    return images.some((image) => !image || (image.complete && !image.naturalWidth));
  }

  /** Done when every image has been loaded or cannot be. */
  async settled() {
    const images = this.panes.map((pane) => pane.querySelector("img")).filter(Boolean);
    await Promise.all(images.map((image) => image.complete || new Promise((resolve) => {
      image.addEventListener("load", resolve, {once: true});
      image.addEventListener("error", resolve, {once: true});
    })));
  }

  /** Show the other image in the same place; the first call leaves the arrangement side by side. */
  flip() {
    if (this.images.length < 2) return;
    this.shown = this.inPlace ? 1 - this.shown : 1;
    this.inPlace = true;
    this.arrange();
    announce(this.images[this.shown].title);
  }

  sideBySide() {
    this.inPlace = false;
    this.arrange();
    if (this.images.length > 1) announce("Side by side");
  }

  arrange() {
    const inPlace = this.inPlace && this.images.length > 1;
    this.stage.classList.toggle("in-place", inPlace);
    this.stage.dataset.images = this.images.length;
    this.panes.forEach((pane, number) => pane.classList.toggle("hidden", inPlace && number !== this.shown));
    this.stage.dispatchEvent(new CustomEvent("arranged", {detail: {inPlace}}));
  }

  reset() {
    Object.assign(this, {scale: 1, x: 0, y: 0});
    this.place();
  }

  /** Zoom by a factor around a point of the frame, given as fractions of its width and height. */
  zoom(factor, atX = 0.5, atY = 0.5) {
    const scale = Math.min(LARGEST, Math.max(1, this.scale * factor));
    this.x = 100 * atX - (scale / this.scale) * (100 * atX - this.x);
    this.y = 100 * atY - (scale / this.scale) * (100 * atY - this.y);
    this.scale = scale;
    this.place();
  }

  zoomIn() {
    this.zoom(STEP);
  }

  zoomOut() {
    this.zoom(1 / STEP);
  }

  /** Move the zoomed image by per cent of the frame. */
  pan(x, y) {
    this.x += x;
    this.y += y;
    this.place();
  }

  panBySteps(x, y) {
    this.pan(x * PAN_PER_CENT, y * PAN_PER_CENT);
  }

  /** Apply the zoom to both images; an image never leaves its frame. */
  place() {
    const least = -100 * (this.scale - 1);
    this.x = Math.min(0, Math.max(least, this.x));
    this.y = Math.min(0, Math.max(least, this.y));
    for (const pane of this.panes) {
      const image = pane.querySelector("img");
      if (image) image.style.transform = `translate(${this.x}%, ${this.y}%) scale(${this.scale})`;
    }
    this.stage.classList.toggle("zoomed", this.scale > 1);
  }

  wheel(event) {
    const frame = event.target.closest(".frame");
    if (!frame || (!event.ctrlKey && this.scale === 1 && event.deltaY > 0)) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    const factor = Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002));
    this.zoom(factor, (event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height);
  }

  pointerdown(event) {
    const frame = event.target.closest(".frame");
    if (!frame || event.button) return;
    this.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY, box: frame.getBoundingClientRect()});
    if (this.scale > 1 || this.pointers.size > 1) this.stage.setPointerCapture(event.pointerId);
  }

  pointermove(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    const before = [...this.pointers.values()].map(({x, y}) => ({x, y}));
    const {box} = pointer;
    Object.assign(pointer, {x: event.clientX, y: event.clientY});
    const after = [...this.pointers.values()];
    if (after.length === 2) {
      const factor = distance(after) / Math.max(1, distance(before));
      const centre = {x: (after[0].x + after[1].x) / 2, y: (after[0].y + after[1].y) / 2};
      this.zoom(factor, (centre.x - box.x) / box.width, (centre.y - box.y) / box.height);
    } else if (this.scale > 1) {
      this.pan((100 * (after[0].x - before[0].x)) / box.width, (100 * (after[0].y - before[0].y)) / box.height);
    }
  }

  pointerup(event) {
    this.pointers.delete(event.pointerId);
  }

  pointercancel(event) {
    this.pointers.delete(event.pointerId);
  }
}

const distance = ([a, b]) => Math.hypot(a.x - b.x, a.y - b.y);

/** The actions of a viewer, for the keys. */
export function viewerActions(viewer, pair) {
  const actions = [
    {keys: ["+", "="], label: "Zoom in", run: () => viewer.zoomIn(), repeats: true},
    {keys: ["-"], label: "Zoom out", run: () => viewer.zoomOut(), repeats: true},
    {keys: ["0"], label: "Reset the zoom", run: () => viewer.reset()},
    {keys: ["Shift+ArrowLeft"], label: "Move the view left", run: () => viewer.panBySteps(1, 0), repeats: true},
    {keys: ["Shift+ArrowRight"], label: "Move the view right", run: () => viewer.panBySteps(-1, 0), repeats: true},
    {keys: ["Shift+ArrowUp"], label: "Move the view up", run: () => viewer.panBySteps(0, 1), repeats: true},
    {keys: ["Shift+ArrowDown"], label: "Move the view down", run: () => viewer.panBySteps(0, -1), repeats: true},
  ];
  const pairs = [
    {keys: ["f"], label: "Flip: show the other image in the same place", run: () => viewer.flip()},
    {keys: ["g"], label: "Side by side", run: () => viewer.sideBySide()},
  ];
  return pair ? [...pairs, ...actions] : actions;
}
