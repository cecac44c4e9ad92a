// Events on their way to the server. An event leaves the outbox only when the server has acknowledged it.
import {post, Refused, SignedOut} from "./requests.js";

const BATCH = 100;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
// Answers that say that the events themselves are wrong. Any other refusal may come from a proxy or a wrong
// setting, so the events are kept and sent again.
const WRONG_EVENTS = [400, 413, 422];
const OTHER_PERSON = 409;

const NEWEST = "newest event"; // the setting with the time of the newest event of this browser
let newest = 0;

/** An event with an id and a time; `fields` are the others. Times increase, also if the clock is set back. */
export function newEvent(fields) {
  newest = Math.max(Date.now(), newest + 1);
  return {event: uuid(), client_time: newest, ...fields};
}

/** A random UUID; crypto.randomUUID is missing on pages without https. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/**
 * The outbox of one person.
 *
 * Dispatches "state" when `state` changes: "starting", "saved", "saving", "waiting" (for the server), "refused",
 * "lost" (not stored in this browser), "signed-out" or "other-person" (another person has signed in on this browser); and
 * "refusal" with the events that the server will never accept, and "present" with the verdicts {task, item, verdict}
 * that the server has. `waiting` is the number of events that are not acknowledged; `lost` has, by item, why its last event is
 * not stored, until another one is.
 */
export class Outbox extends EventTarget {
  constructor(storage, path, person) {
    super();
    Object.assign(this, {storage, path, person, state: "starting", waiting: 0, refusals: [], pause: FIRST_PAUSE_MS, timer: 0});
    this.sending = null;
    this.lost = new Map();
    this.writing = null;
    addEventListener("online", () => this.retry());
    addEventListener("offline", () => this.waiting && this.show("waiting"));
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.retry());
    // Leaving with unsent events is safe, they stay in the database; but somebody who closes the browser for
    // good should know.
    addEventListener("beforeunload", (event) => ["waiting", "lost", "other-person"].includes(this.state) && event.preventDefault());
  }

  /** Read what earlier pages left and send it. */
  async start() {
    this.waiting = await this.storage.count("events");
    newest = Math.max(newest, (await this.storage.get("settings", NEWEST))?.value ?? 0);
    this.refusals = await this.storage.all("refused");
    this.send();
  }

  /** Store an event on the disk, together with changes of other stores {store: {put, remove}}, then send it. */
  async add(event, others = {}) {
    if (this.state === "saved") this.show("saving");
    try {
      this.writing = this.change(others, event);
      await this.writing;
    } catch (error) {
      this.lost.set(event.item, error?.message || "The browser gives no reason.");
      this.send();
      throw error;
    }
    this.lost.delete(event.item);
    this.waiting += 1;
    this.send();
  }

  /** Change other stores {store: {put, remove}}, and store an event with them, all or nothing. */
  change(others, event = null) {
    return this.storage.write(["events", "settings", ...Object.keys(others)], (stores) => {
      if (event) {
        stores.events.add(event);
        stores.settings.put({name: NEWEST, value: newest});
      }
      for (const [name, {put, remove}] of Object.entries(others)) {
        for (const key of remove) stores[name].delete(key);
        for (const record of put) stores[name].put(record);
      }
    });
  }

  /** The events that the server has not acknowledged, oldest first. */
  pending() {
    return this.storage.all("events");
  }

  /** Forget what the server refused, after the person has seen it. */
  async dismiss() {
    await this.storage.write(["refused"], ({refused}) => refused.clear());
    this.refusals = [];
    this.settle();
  }

  /** Send at once instead of after the pause. */
  retry() {
    clearTimeout(this.timer);
    this.pause = FIRST_PAUSE_MS;
    this.send();
  }

  /** Send everything, also what is just being written; done when it is sent or cannot be. */
  async flush() {
    await this.writing?.catch(() => null);
    await this.send();
  }

  /** Done when the server has settled everything. */
  async whenSaved() {
    while (this.waiting) {
      await new Promise((resolve) => {
        this.addEventListener("state", resolve, {once: true});
      });
    }
  }

  /** Send everything; one sender at a time. */
  send() {
    this.sending ??= this.sendAll().finally(() => {
      this.sending = null;
    });
    return this.sending;
  }

  async sendAll() {
    clearTimeout(this.timer);
    for (;;) {
      try {
        const batch = await this.storage.all("events", null, BATCH);
        if (!batch.length) break;
        this.show(this.state === "waiting" ? "waiting" : "saving");
        await this.deliver(batch);
        this.pause = FIRST_PAUSE_MS;
      } catch (error) {
        if (error instanceof SignedOut) return this.show("signed-out");
        if (error.status === OTHER_PERSON) return this.show("other-person");
        this.show("waiting");
        this.timer = setTimeout(() => this.send(), this.pause);
        this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
        return undefined;
      }
    }
    return this.settle();
  }

  /** Send a batch; a batch that is refused is sent event by event, to find the one that is wrong. */
  async deliver(batch) {
    try {
      const answer = await post(this.path, {events: batch.map(({number: _, ...event}) => event)}, {"X-Windtunnel-Person": this.person});
      await this.settleBatch(batch, new Set(answer.acknowledged), new Map(answer.refused.map(({event, reason}) => [event, reason])));
      this.dispatchEvent(new CustomEvent("present", {detail: answer.present}));
    } catch (error) {
      if (!(error instanceof Refused && WRONG_EVENTS.includes(error.status))) throw error;
      if (batch.length > 1) {
        for (const event of batch) await this.deliver([event]);
      } else {
        await this.settleBatch(batch, new Set(), new Map([[batch[0].event, error.message]]));
      }
    }
  }

  /** Remove what was acknowledged; move what was refused, with the reason, to where the person sees it. */
  async settleBatch(batch, acknowledged, reasons) {
    const done = batch.filter(({event}) => acknowledged.has(event));
    const wrong = batch.filter(({event}) => reasons.has(event)).map((event) => ({...event, reason: reasons.get(event.event)}));
    if (!done.length && !wrong.length) throw new Error("The server did not confirm any verdict.");
    await this.storage.write(["events", "refused"], ({events, refused}) => {
      for (const {number} of [...done, ...wrong]) events.delete(number);
      for (const refusal of wrong) refused.put(refusal);
    });
    this.waiting = Math.max(0, this.waiting - done.length - wrong.length);
    this.refusals.push(...wrong);
    if (wrong.length) this.dispatchEvent(new CustomEvent("refusal", {detail: wrong}));
  }

  settle() {
    this.waiting = 0;
    this.show(this.lost.size ? "lost" : this.refusals.length ? "refused" : "saved");
  }

  show(state) {
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }
}
