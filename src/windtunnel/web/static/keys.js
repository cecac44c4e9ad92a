// Keys of a page: single keys for actions, and the help that lists them.
import {byId, element, fill} from "./dom.js";

const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";
const NAMES = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc",
};

/** How a key is written, such as "Ctrl+Z" or "←". */
export const keyName = (key) =>
  key.split("+").map((part) => NAMES[part] ?? (part.length === 1 ? part.toUpperCase() : part)).join("+") || key;

/** The key of a keyboard event, such as "a", "?" or "Ctrl+Shift+z". */
function pressed(event) {
  const command = event.ctrlKey || event.metaKey;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (command || event.key.length > 1);
  return `${command ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${key}`;
}

/**
 * The keys of a page. An action is {keys, label, group, run, repeats}; the first key is the one that is shown.
 * Keys do nothing while somebody types, in a dialog, or when they are switched off (screen readers and speech
 * input have keys of their own).
 */
export class Keys {
  constructor() {
    this.actions = [];
    this.enabled = localStorage.getItem("single-keys") !== "off";
    document.addEventListener("keydown", (event) => this.press(event));
    const help = byId("help");
    byId("open-help")?.addEventListener("click", () => this.help());
    byId("single-keys").checked = this.enabled;
    byId("single-keys").addEventListener("change", (event) => this.enable(event.target.checked));
    byId("close-help").addEventListener("click", () => help.close());
  }

  /** Replace the actions of a group. */
  set(group, actions) {
    this.actions = this.actions.filter((action) => action.group !== group);
    this.actions.push(...actions.map((action) => ({...action, group})));
  }

  enable(enabled) {
    this.enabled = enabled;
    localStorage.setItem("single-keys", enabled ? "on" : "off");
  }

  press(event) {
    if (event.defaultPrevented || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    const key = pressed(event);
    const command = key.startsWith("Ctrl+");
    if (event.target.closest(TYPING) && !(key === "Escape")) return;
    // Enter and Space belong to the control that has the focus.
    if ((key === "Enter" || key === " ") && event.target.closest("button, a, summary, [role=option], input")) return;
    if (!this.enabled && !command && event.key.length === 1) return;
    const action = this.actions.find(({keys}) => keys.includes(key));
    if (!action || (event.repeat && !action.repeats)) return;
    event.preventDefault();
    action.run(event);
  }

  help() {
    const groups = [...new Set(this.actions.map((action) => action.group))];
    fill(byId("help-keys"), ...groups.map((group) => {
      const rows = this.actions.filter((action) => action.group === group);
      return element("section", {}, element("h3", {}, group), element("dl", {class: "keys"}, rows.map(({keys, label}) => [
        element("dt", {}, keys.map((key, n) => [n ? " or " : "", element("kbd", {}, keyName(key))]).flat()),
        element("dd", {}, label),
      ]).flat()));
    }));
    byId("help").showModal();
  }
}
