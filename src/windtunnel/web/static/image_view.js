// The view of single images and pairs.
import {byId} from "./dom.js";
import {Viewer, viewerActions} from "./viewer.js";

const TITLES = {anchor: "Anchor", frame: "Frame", image: ""};

/** Images of an item for the viewer. */
export function imagesOf(item, hidden = false) {
  return item.media.map(({role, url}) => {
    const title = TITLES[role] ?? role;
    const about = hidden || !item.labels.length ? "" : `, labelled ${item.labels.join(", ")}`;
    return {url, title, alt: `${title || "Image"} to judge${about}`};
  });
}

/** The present item of a desk in a viewer, with its buttons. */
export class ImageView {
  constructor(stage, pair) {
    this.viewer = new Viewer(stage);
    this.pair = pair;
    this.shown = "";
    byId("zoom-in").onclick = () => this.viewer.zoomIn();
    byId("zoom-out").onclick = () => this.viewer.zoomOut();
    byId("zoom-reset").onclick = () => this.viewer.reset();
    byId("flip").onclick = () => this.viewer.flip();
    byId("side-by-side").onclick = () => this.viewer.sideBySide();
    byId("flip").hidden = !pair;
    stage.addEventListener("arranged", ({detail}) => {
      byId("side-by-side").hidden = !detail.inPlace;
    });
  }

  show({item}) {
    const failed = this.viewer.stage.querySelector(".missing");
    if (item.item === this.shown && !failed) return; // only the verdict is another one
    this.shown = item.item;
    this.viewer.show(imagesOf(item));
  }

  /** Whether the person can see what is judged. */
  get ready() {
    return this.viewer.loaded;
  }

  get failed() {
    return this.viewer.failed;
  }

  whenReady() {
    return this.viewer.settled();
  }

  actions() {
    return viewerActions(this.viewer, this.pair);
  }
}
