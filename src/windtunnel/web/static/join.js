// Exchanges the secret of a personal link for a session. The secret is in the fragment, which no server sees.
import {byId} from "./dom.js";
import {post, SignedOut} from "./requests.js";

const token = location.hash.slice(1);
// The secret does not stay in the address bar and the history.
history.replaceState(null, "", location.pathname);

// Another link that is pasted into the same tab changes the fragment alone.
addEventListener("hashchange", () => location.reload());

async function join() {
  if (!token) throw new Error("Open the complete personal link that you received, including everything after the #.");
  const person = await post("/api/session", {token});
  location.replace(person.role === "owner" ? "/owner" : "/");
}

join().catch((error) => {
  byId("joining").hidden = true;
  byId("failed").hidden = false;
  byId("reason").textContent = error instanceof SignedOut ? "This link is not valid any more." : error.message;
});
