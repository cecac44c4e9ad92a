// What a person has typed or chosen on an item before the verdict, such as a note; it survives a reload.
import {same} from "./verdict_text.js";

/**
 * The drafts of a task, by item. A draft is {task, item, given, draft}: `given` is the verdict that the person had
 * when the draft was made. A draft does not apply to any other verdict.
 */
export class Drafts {
  constructor(storage, task, records) {
    Object.assign(this, {storage, task, records: new Map(records.map((record) => [record.item, record]))});
  }

  static async open(storage, task) {
    return new Drafts(storage, task, await storage.all("drafts", IDBKeyRange.bound([task, ""], [task, []])));
  }

  /** The draft on an item with this verdict, or null. */
  of(item, given) {
    const record = this.records.get(item);
    return record && same(record.given, given) ? record : null;
  }

  /** Store a draft. */
  save(item, given, draft) {
    const change = this.put({task: this.task, item, given, draft: structuredClone(draft)});
    // Nothing is lost if this fails: the page has the draft, and the verdict reports a browser that cannot store.
    this.storage.write(["drafts"], ({drafts}) => change.put.forEach((record) => drafts.put(record)), "relaxed").catch(() => null);
  }

  /** Take a draft over again; returns what to store. */
  put(record) {
    this.records.set(record.item, record);
    return {put: [record], remove: []};
  }

  /** Forget the draft on an item; returns what to store. */
  remove(item) {
    this.records.delete(item);
    return {put: [], remove: [[this.task, item]]};
  }
}
