// The instructions of a task, with solved examples.
import {byId, element, fill} from "./dom.js";
import {describe} from "./verdict_text.js";

/** Plain text as paragraphs; empty lines separate them. */
export function paragraphs(text) {
  return text.split(/\n\s*\n/).filter((part) => part.trim()).map((part) => element("p", {}, part.trim()));
}

function example({text, media, verdict}, task) {
  return element(
    "figure", {},
    element("div", {class: "pair"}, media.map(({url, role}) => element("img", {src: url, alt: `Example, ${role}`}))),
    element("figcaption", {}, text, verdict ? element("span", {}, " Verdict: ", element("strong", {}, describe(verdict, task))) : null),
  );
}

/** Fill the dialog of a task's instructions; `start` is called when it is closed. */
export function prepareInstructions(task) {
  const dialog = byId("instructions");
  fill(
    byId("instructions-text"),
    element("p", {}, element("strong", {}, task.question)),
    ...paragraphs(task.instructions),
    task.examples.length ? element("h3", {}, "Examples") : null,
    task.examples.length
      ? element("div", {class: `images of-${task.layout === "pair" ? 2 : 1}`}, task.examples.map((one) => example(one, task)))
      : null,
    element("h3", {}, "How to work"),
    element("ul", {},
      element("li", {}, "Each verdict has a button", element("span", {class: "touchless"}, " and a key. During the review, press ? to see all keys"), "."),
      element("li", {class: "touchless"}, "The arrow keys move between items without giving a verdict."),
      element("li", {}, "Every verdict is saved at once. You can undo any number of steps."),
      task.layout === "pair" ? element("li", {}, "Flip shows the other frame in the same place. Both frames have the same zoom and position.") : null),
  );
  byId("close-instructions").onclick = () => dialog.close();
  return {
    open: (button = "Continue") => {
      byId("close-instructions").textContent = button;
      dialog.showModal();
      return new Promise((resolve) => {
        dialog.addEventListener("close", resolve, {once: true});
      });
    },
  };
}
