// What one person did in one task, for undo and redo; it survives a reload.

/**
 * Steps of a task, oldest first. `cursor` is the number of steps that are done; steps after it were undone.
 * A step is {position, item, before, after, undone}, plus what the page needs to go back to it. Positions are
 * unique, so pages that are open at the same time keep each other's steps.
 */
export class History {
  constructor(task, steps) {
    const done = steps.filter(({undone}) => !undone);
    Object.assign(this, {task, steps: [...done, ...steps.filter(({undone}) => undone)], cursor: done.length});
    this.last = steps.at(-1)?.position[0] ?? 0;
    this.abandoned = []; // keys of records that are to be removed from the disk
  }

  static async open(storage, task) {
    return new History(task, await storage.all("history", IDBKeyRange.bound([task, [0]], [task, [Infinity]])));
  }

  get canUndo() {
    return this.cursor > 0;
  }

  get canRedo() {
    return this.cursor < this.steps.length;
  }

  /** Add a step after the cursor; returns what to store. Steps that were undone cannot be redone now. */
  record(step) {
    this.last = Math.max(Date.now(), this.last + 1);
    const stored = {...step, task: this.task, position: [this.last, step.event], undone: false};
    this.abandon(this.steps.splice(this.cursor, Infinity, stored));
    this.cursor += 1;
    return this.change([stored]);
  }

  /** The step to undo, and what to store. */
  undo() {
    this.cursor -= 1;
    return this.mark(this.cursor, true);
  }

  /** The step to redo, and what to store. */
  redo() {
    this.cursor += 1;
    return this.mark(this.cursor - 1, false);
  }

  mark(place, undone) {
    const step = {...this.steps[place], undone};
    this.steps[place] = step;
    return {step, records: this.change([step])};
  }

  /** Forget steps that do not count, by their events; returns what to store. */
  drop(events) {
    const wrong = this.steps.filter(({event}) => events.has(event));
    this.cursor -= this.steps.slice(0, this.cursor).filter(({event}) => events.has(event)).length;
    this.steps = this.steps.filter(({event}) => !events.has(event));
    this.abandon(wrong);
    return this.change([]);
  }

  /** Take back an undo or redo that could not be stored, unless the person has gone on. */
  takeBack(step) {
    const place = this.steps.findIndex(({event}) => event === step.event);
    if (step.undone && this.cursor === place) this.redo();
    else if (!step.undone && this.cursor === place + 1) this.undo();
  }

  /** What was removed from the disk need not be removed again. */
  stored({history}) {
    this.abandoned = this.abandoned.filter((key) => !history.remove.includes(key));
  }

  abandon(steps) {
    this.abandoned.push(...steps.map(({position}) => [this.task, position]));
  }

  /** Records for the disk, all to be written at once: steps as they are now, and keys of those that are abandoned. */
  change(steps) {
    return {history: {put: steps, remove: [...this.abandoned]}};
  }
}
