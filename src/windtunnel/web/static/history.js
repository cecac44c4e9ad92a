// What one person did in one task, for undo and redo; it survives a reload.

/**
 * Steps of a task, oldest first. `cursor` is the number of steps that are done; steps after it were undone.
 * A step is {position, item, before, after}, plus what the page needs to go back to it.
 */
export class History {
  constructor(storage, task, steps, cursor) {
    Object.assign(this, {storage, task, steps, cursor});
  }

  static async open(storage, task) {
    const range = IDBKeyRange.bound([task, 0], [task, Infinity]);
    const steps = await storage.all("history", range);
    const cursor = (await storage.get("settings", `cursor ${task}`))?.value ?? steps.length;
    return new History(storage, task, steps, Math.min(cursor, steps.length));
  }

  get canUndo() {
    return this.cursor > 0;
  }

  get canRedo() {
    return this.cursor < this.steps.length;
  }

  /** Add a step after the cursor; returns the records to store. Steps that were undone cannot be redone now. */
  record(step) {
    const stored = {...step, task: this.task, position: this.cursor};
    this.steps.splice(this.cursor, Infinity, stored);
    return this.move(this.cursor + 1, [stored]);
  }

  /** The step to undo, and the records to store. */
  undo() {
    return {step: this.steps[this.cursor - 1], records: this.move(this.cursor - 1)};
  }

  /** The step to redo, and the records to store. */
  redo() {
    return {step: this.steps[this.cursor], records: this.move(this.cursor + 1)};
  }

  move(cursor, history = []) {
    this.cursor = cursor;
    return {history, settings: [{name: `cursor ${this.task}`, value: cursor}]};
  }
}
