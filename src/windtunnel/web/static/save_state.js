// Says whether everything is saved.
import {announce, byId, counted, element, fill} from "./dom.js";

const TEXTS = {
  starting: () => "Connecting…",
  saved: () => "All saved",
  saving: () => "Saving…",
  waiting: (outbox) => `${counted(outbox.waiting, "verdict")} waiting for the server`,
  refused: (outbox) => `${counted(outbox.refusals.length, "verdict")} refused`,
  lost: (outbox) => `${counted(outbox.lost.size, "verdict")} not saved`,
  "signed-out": () => "Signed out",
  "other-person": (outbox) => `${counted(outbox.waiting, "verdict")} saved in this browser, not sent`,
};
// A state that lasts shorter than this is not worth an announcement.
const PAUSE_MS = 1500;

/** Show the state of an outbox in the bar, and refused events in a notice. */
export function showSaveState(outbox) {
  const place = byId("save-state");
  let announced = "saved";
  let timer = 0;
  const show = () => {
    place.dataset.state = outbox.state;
    place.textContent = TEXTS[outbox.state](outbox);
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (outbox.state !== announced && outbox.state !== "saving") announce(place.textContent);
      announced = outbox.state;
    }, PAUSE_MS);
    showNotice(outbox);
  };
  outbox.addEventListener("state", show);
  show();
}

/** Whether nothing can be judged here because somebody else signed in; if so, say it. */
export function refusesOtherPerson(outbox) {
  const refuses = outbox.state === "other-person";
  if (refuses) announce("Another person has signed in on this browser. Open your personal link again.");
  return refuses;
}

function showNotice(outbox) {
  const notice = byId("notice");
  if (outbox.state === "signed-out") {
    notice.hidden = false;
    fill(notice, element("p", {}, "You are signed out. Unsent verdicts are saved in this browser. Open your personal link again to send them."));
  } else if (outbox.state === "other-person") {
    notice.hidden = false;
    fill(
      notice,
      element("p", {}, "Another person has signed in on this browser. Your unsent verdicts are saved here. Open your personal link again to send them."),
      element("a", {class: "button main", href: "/join"}, "Sign in again"),
    );
  } else if (outbox.refusals.length) {
    notice.hidden = false;
    fill(
      notice,
      element("p", {}, "The server did not accept these verdicts:"),
      element("ul", {}, outbox.refusals.map(({item, reason}) => element("li", {}, `${item}: ${reason}`))),
      element("button", {type: "button", onclick: () => outbox.dismiss()}, "Dismiss"),
    );
  } else {
    notice.hidden = true;
  }
}
