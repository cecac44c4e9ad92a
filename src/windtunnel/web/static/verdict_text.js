// Verdicts in words.

/** Whether a verdict has all values of a choice. */
export function matches(choice, verdict) {
  return Boolean(verdict) && Object.entries(choice.verdict).every(
    ([name, value]) => JSON.stringify(verdict[name]) === JSON.stringify(value));
}

/** The parts of a verdict that say something, in a fixed order: the server adds empty ones that a page omits. */
const parts = (verdict) => JSON.stringify(Object.entries(verdict).filter(([, value]) => (Array.isArray(value) ? value.length : value)).sort());

/** Whether two verdicts are equal; null is no verdict. */
export const same = (one, other) => Boolean(one) === Boolean(other) && (!one || parts(one) === parts(other));

/** Why a verdict cannot be given in a view, or "". An image that cannot be loaded takes only "unsure": the choice with the key U in every task. */
export function whyNotJudged(view, verdict, task) {
  const unsure = task.choices.find(({key}) => key === "u");
  if (!view.failed || matches(unsure, verdict)) return "";
  return `The image cannot be loaded. Only “${unsure.title}” is possible. Reload the page to try again.`;
}

/** A verdict in the words of the task's choices, such as "Good: cat, dog"; the note is not part of it. `names` are further words for classes. */
export function describe(verdict, task, names = {}) {
  if (!verdict) return "none";
  const titles = task.choices.filter((choice) => matches(choice, verdict)).map(({title}) => title);
  const classes = "label" in task.blank ? [verdict.label].filter(Boolean) : (task.blank.labels && verdict.labels) || [];
  if (classes.length) return [...titles, classes.map((name) => names[name] ?? task.classes.title(name)).join(", ")].join(": ");
  return titles.join(", ") || JSON.stringify(verdict);
}
