// The items of one person in one task: loaded in windows, images preloaded.
import {get, withQuery} from "./requests.js";

// Items that are loaded are kept for this person for a while, so a window is small.
const WINDOW = 10;
// Load the next window when this few items are left in the present one.
const RESERVE = 6;
const PRELOADED_ITEMS = 6;

/** Load images before they are needed; the browser keeps them in its cache. */
export class Preloader {
  constructor() {
    this.images = new Map();
  }

  load(items) {
    const urls = new Set(items.flatMap((item) => item.media.map(({url}) => url)));
    for (const url of this.images.keys()) if (!urls.has(url)) this.images.delete(url);
    for (const url of urls) {
      if (this.images.has(url)) continue;
      const image = new Image();
      image.src = url;
      image.decode().catch(() => this.images.delete(url)); // tried again when the item is shown
      this.images.set(url, image);
    }
  }
}

/**
 * The queue. `length` is the number of places so far, `ended` whether there is no further one now, and
 * `reason` why.
 */
export class Queue {
  constructor(task, window = WINDOW) {
    Object.assign(this, {task, window, items: new Map(), length: 0, ended: false, reason: "", loading: new Map()});
    this.preloader = new Preloader();
  }

  /** Load the window that a person starts with; returns the first place without a verdict. */
  async start() {
    const {first_open: first} = await this.load(0);
    if (!this.items.has(first)) await this.load(first).catch(() => null);
    return first;
  }

  /** The item at a place, or null after the end. */
  async at(place) {
    if (!this.items.has(place) && !(this.ended && place >= this.length)) await this.load(place);
    const item = this.items.get(place) ?? null;
    if (item) this.ahead(place);
    return item;
  }

  /** Items from a place on that are loaded already. */
  loaded(place, count) {
    const places = Array.from({length: count}, (_, n) => place + n);
    return places.map((at) => this.items.get(at)).filter(Boolean);
  }

  /** Ask again whether there is more work. */
  async refresh() {
    this.ended = false;
    return this.load(this.length);
  }

  ahead(place) {
    this.preloader.load(this.loaded(place, PRELOADED_ITEMS + 1));
    const last = place + RESERVE;
    if (!this.items.has(last) && !(this.ended && last >= this.length)) {
      let missing = place;
      while (this.items.has(missing)) missing += 1;
      this.load(missing).then(() => this.preloader.load(this.loaded(place, PRELOADED_ITEMS + 1)), () => null);
    }
  }

  /** Load the window that starts at a place; requests for the same window are one. */
  load(start) {
    if (!this.loading.has(start)) {
      const path = withQuery(`/api/tasks/${encodeURIComponent(this.task)}/items`, {start, count: this.window});
      const loading = get(path).then((page) => {
        for (const item of page.items) this.items.set(item.place, item);
        Object.assign(this, {length: page.length, ended: page.ended, reason: page.reason});
        return page;
      }).finally(() => this.loading.delete(start));
      this.loading.set(start, loading);
    }
    return this.loading.get(start);
  }
}
