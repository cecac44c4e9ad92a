// Search as you type over thousands of classes: a combobox as WAI-ARIA describes it.
import {announce, counted, element, fill} from "./dom.js";

/**
 * A text field with a list of matching classes.
 *
 * Args: `id` of the field, `label`, `search(text)` returns [{id, name, detail}], and `choose(class)` is called with
 * the chosen one. The list always belongs to the text in the field.
 */
export class ClassSearch {
  constructor({id, label, search, choose}) {
    Object.assign(this, {search, choose, matches: [], active: -1});
    this.list = element("ul", {id: `${id}-matches`, role: "listbox", class: "matches", "aria-label": label, hidden: true});
    this.field = element("input", {
      id, type: "text", role: "combobox", "aria-expanded": "false", "aria-controls": `${id}-matches`,
      "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", placeholder: "Type part of a class name",
      oninput: () => this.find(), onkeydown: (event) => this.key(event), onblur: () => setTimeout(() => this.left(), 150),
    });
    this.element = element("div", {class: "class-search"}, element("label", {for: id}, label), this.field, this.list);
  }

  focus() {
    this.field.focus();
  }

  /** Go on with a text that was typed into an earlier field. */
  restore(text) {
    this.field.value = text;
    this.focus();
    this.find();
  }

  /** Close the list, unless the person came back. */
  left() {
    if (document.activeElement !== this.field) this.close();
  }

  find() {
    const text = this.field.value.trim();
    if (text) this.open(this.search(text));
    else this.close();
  }

  open(matches) {
    this.matches = matches;
    fill(this.list, matches.map((match, number) => element(
      "li",
      {role: "option", id: `${this.field.id}-${number}`, "aria-selected": "false",
        onpointerdown: (event) => event.preventDefault(), onclick: () => this.take(number)},
      match.name, match.detail ? element("span", {class: "soft"}, ` ${match.detail}`) : null,
    )));
    if (!matches.length) {
      this.say(`No class matches “${this.field.value.trim()}”.`);
      return;
    }
    this.expand();
    this.activate(0);
    announce(`${counted(matches.length, "class", "classes")}; ${matches[0].name}`);
  }

  /** Show a sentence in place of matches. */
  say(text) {
    this.matches = [];
    fill(this.list, element("li", {class: "soft", role: "option", "aria-disabled": "true", "aria-selected": "false"}, text));
    this.expand();
    announce(text);
  }

  expand() {
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
  }

  close() {
    this.list.hidden = true;
    this.matches = [];
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  activate(number) {
    this.active = (number + this.matches.length) % this.matches.length;
    [...this.list.children].forEach((row, n) => row.setAttribute("aria-selected", n === this.active));
    const row = this.list.children[this.active];
    this.field.setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({block: "nearest"});
  }

  take(number) {
    const match = this.matches[number];
    if (!match) return;
    this.field.value = "";
    this.close();
    this.choose(match);
  }

  key(event) {
    if (event.isComposing) return; // Enter ends the input of a character
    const open = this.matches.length > 0;
    if (event.key === "ArrowDown" && open) this.activate(this.active + 1);
    else if (event.key === "ArrowUp" && open) this.activate(this.active - 1);
    else if (event.key === "Enter" && open) this.take(this.active);
    else if (event.key === "Enter" && this.field.value.trim()) this.find();
    else if (event.key === "Escape" && (open || this.field.value)) {
      this.field.value = "";
      this.close();
    } else if (event.key === "Escape") this.field.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
