// What every page of a signed-in person needs: who it is, the outbox, and its state in the bar.
import {byId, element, fill} from "./dom.js";
import {Outbox} from "./outbox.js";
import {get, post, SignedOut} from "./requests.js";
import {showSaveState} from "./save_state.js";
import {Storage} from "./storage.js";

const PATIENCE_MS = 2000;
// What means nothing to somebody who is not signed in: what is loading, its state, and buttons of the bar.
const NEEDS_SESSION = "main [aria-busy], [data-state=starting], .bar button";

/** The signed-in person, with the outbox for events; unsent events of earlier pages are sent. */
export async function openSession() {
  const person = await get("/api/session");
  const storage = await Storage.open(`windtunnel review ${person.person}`);
  const outbox = new Outbox(storage, "/api/events", person.person);
  if (byId("person")) byId("person").textContent = person.name;
  byId("sign-out")?.addEventListener("click", () => signOut(outbox));
  showSaveState(outbox);
  await outbox.start();
  // What earlier pages left is sent first, so that the server's counts include it; a slow server is not waited for.
  await Promise.race([outbox.send(), new Promise((resolve) => {
    setTimeout(resolve, PATIENCE_MS);
  })]);
  return {person, storage, outbox};
}

/** End the session; verdicts that are not sent stay in this browser until the link is opened again. */
async function signOut(outbox) {
  const warning = "Some verdicts are not sent yet. They stay saved in this browser until you open your link here again. Sign out?";
  if (outbox.waiting && !confirm(warning)) return;
  await post("/api/session/end", {}).catch(() => null);
  location.replace("/join");
}

/** Show an error that stops the page. */
export function showFailure(error) {
  const notice = byId("notice");
  notice.hidden = false;
  notice.classList.add("error");
  if (error instanceof SignedOut) {
    for (const useless of document.querySelectorAll(NEEDS_SESSION)) useless.hidden = true;
  }
  const advice = error instanceof SignedOut
    ? "You are not signed in. Open your personal link."
    : "Nothing is lost. Reload the page to try again.";
  fill(
    notice,
    error instanceof SignedOut ? null : element("p", {}, error.message),
    element("p", {}, advice),
    error instanceof SignedOut ? null : element("button", {type: "button", onclick: () => location.reload()}, "Reload"),
  );
}

/** A function that makes requests: the answer of the newest one, or null for older ones and after a failure, which is shown. */
export function newest() {
  let last = null;
  return async (ask) => {
    last = ask;
    try {
      const answer = await ask();
      if (last !== ask) return null;
      byId("notice").hidden = true;
      return answer;
    } catch (error) {
      if (last === ask) showFailure(error);
      return null;
    }
  };
}

/** Run the main function of a page. */
export function run(main) {
  main().catch(showFailure);
}
