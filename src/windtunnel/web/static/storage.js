// The browser's database of one person: unsent events, drafts and the history for undo.

const VERSION = 2;
const PATIENCE_MS = 8000;

/** The result of an IndexedDB request. */
function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Fails after a while: a page must not wait for a database that another page blocks. */
function tooSlow() {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error("This browser's database does not respond. Close other tabs of the review.")), PATIENCE_MS);
  });
}

/** Ask the browser, once, not to throw the database away when the disk is full. */
async function askToKeep() {
  if (!(await navigator.storage?.persisted?.().catch(() => true) ?? true)) await navigator.storage.persist().catch(() => null);
}

const STORES = {
  events: {keyPath: "number", autoIncrement: true},
  refused: {keyPath: "event"},
  history: {keyPath: ["task", "position"]},
  drafts: {keyPath: ["task", "item"]},
  settings: {keyPath: "name"},
};

/** A database in IndexedDB with the stores `events`, `refused`, `history`, `drafts` and `settings`. */
export class Storage {
  constructor(database) {
    this.database = database;
  }

  static async open(name) {
    const request = indexedDB.open(name, VERSION);
    request.onupgradeneeded = () => {
      const {result: database} = request;
      for (const [store, options] of Object.entries(STORES)) {
        if (!database.objectStoreNames.contains(store)) database.createObjectStore(store, options);
      }
    };
    const database = await Promise.race([result(request), tooSlow()]);
    database.onversionchange = () => database.close();
    // A page that is left keeps nothing open; writes that have begun are finished. If the browser shows the page
    // again from its cache, it starts anew.
    addEventListener("pagehide", () => database.close());
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    askToKeep();
    return new Storage(database);
  }

  /** Do all of `change(stores)` or nothing; done when it is on the disk, or with the operating system if `relaxed`. */
  write(names, change, durability = "strict") {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(names, "readwrite", {durability});
      transaction.oncomplete = () => resolve();
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
      try {
        change(Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)])));
        transaction.commit(); // at once: a page that is left a moment later does not take the write with it
      } catch (error) {
        transaction.abort();
        reject(error);
      }
    });
  }

  /** All records of a store, in the order of their keys. */
  all(name, range = null, limit = undefined) {
    return result(this.database.transaction(name).objectStore(name).getAll(range, limit));
  }

  /** One record, or undefined. */
  get(name, key) {
    return result(this.database.transaction(name).objectStore(name).get(key));
  }

  /** The number of records of a store. */
  count(name) {
    return result(this.database.transaction(name).objectStore(name).count());
  }
}
