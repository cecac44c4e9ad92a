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

/** Why a verdict cannot be given in a view, or "": images that cannot be loaded are not judged. */
export const whyNotJudged = (view, verdict, task) => (view.failed && !isUnsure(verdict, task)
  ? "The image cannot be loaded, so only “unsure” is possible. Reload the page to try again." : "");

/** Whether a verdict says that the person cannot tell; in every task this is the choice with the key U. */
export const isUnsure = (verdict, task) => task.choices.some((choice) => choice.key === "u" && matches(choice, verdict));

/** A verdict in the words of the task's choices, such as "Good: cat, dog"; the note is not part of it. `names` are the words for classes. */
export function describe(verdict, task, names = {}) {
  if (!verdict) return "none";
  const titles = task.choices.filter((choice) => matches(choice, verdict)).map(({title}) => title);
  const classes = "label" in task.blank ? [verdict.label].filter(Boolean) : (task.blank.labels && verdict.labels) || [];
  if (classes.length) return [...titles, classes.map((name) => names[name] ?? name).join(", ")].join(": ");
  return titles.join(", ") || JSON.stringify(verdict);
}
