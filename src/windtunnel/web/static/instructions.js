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
      element("li", {}, "Every verdict is one key; ? lists all keys. Arrow keys move without deciding."),
      element("li", {}, "Every verdict is saved at once. Undo goes back as far as you like."),
      task.layout === "pair" ? element("li", {}, "F shows the other frame in the same place. Zoom and position are the same in both.") : null),
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
