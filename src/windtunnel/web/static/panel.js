// The questions on one item: choices with single keys, classes, a note.
import {ClassSearch} from "./class_search.js";
import {announce, element, fill} from "./dom.js";
import {keyName} from "./keys.js";
import {matches, same} from "./verdict_text.js";

const CLASSES_SHOWN = 50;

/**
 * The panel of a task. `decide(verdict)` is called with complete verdicts. Choices without a group replace the
 * whole verdict except the note; those of a group set a part of the draft. `drafts` has what is not decided yet.
 */
export class Panel {
  constructor(root, task, drafts, decide) {
    Object.assign(this, {root, task, drafts, decide, item: null, given: null, draft: {...task.blank}});
    this.multiple = Array.isArray(task.blank.labels);
    this.single = "label" in task.blank;
    // With several groups a verdict has several parts, and Enter confirms it; else one key is enough.
    this.confirms = new Set(task.choices.map((choice) => choice.group).filter(Boolean)).size > 1;
    this.titles = new Map(); // of items
  }

  /** Show an item and the present verdict on it, with elements above the choices and below everything. */
  show(item, verdict, {above = null, below = null} = {}) {
    const labels = this.multiple && !verdict ? {labels: item.labels} : {};
    const draft = this.drafts.of(item.item, verdict)?.draft ?? {...this.task.blank, ...verdict, ...labels};
    Object.assign(this, {item, given: verdict, draft: structuredClone(draft)});
    Object.assign(this, {above, below});
    for (const [name, title] of Object.entries(item.titles)) this.titles.set(name, title);
    this.render();
  }

  render() {
    const {task, item} = this;
    const groups = [...new Set(task.choices.map((choice) => choice.group))];
    fill(
      this.root,
      element("h2", {}, task.question),
      item.labels.length && !this.multiple ? element("p", {}, "Label: ", element("strong", {}, item.labels.map((label) => this.title(label)).join(", "))) : null,
      item.closed && !this.given ? element("p", {class: "notice"}, "Other reviewers have judged this item. It needs no verdict.") : null,
      this.above,
      this.multiple ? this.labels() : null,
      this.single || this.multiple ? this.search() : null,
      ...groups.map((group) => this.choices(group)),
      element("p", {id: "missing", class: "bad"}),
      element("p", {id: "not-saved", class: "soft"}, this.notSaved),
      this.note(),
      this.confirms ? element("button", {type: "button", class: "main", id: "confirm", onclick: () => this.confirm()},
        "Confirm", element("kbd", {class: "touchless"}, "Enter")) : null,
      this.below,
    );
  }

  /** The words for a class: those that came with an item, else those of the task. */
  title(name) {
    return this.titles.get(name) ?? this.task.classes.title(name);
  }

  choices(group) {
    const choices = this.task.choices.filter((choice) => choice.group === group);
    const buttons = choices.map((choice) => element(
      "button",
      {type: "button", "aria-pressed": String(matches(choice, this.confirms ? this.draft : this.given)), "data-key": choice.key,
        onclick: () => this.choose(choice)},
      choice.title, element("kbd", {class: "touchless"}, keyName(choice.key)),
    ));
    if (!group) return element("div", {class: "choice-list", role: "group", "aria-label": "Verdicts"}, buttons);
    return element("fieldset", {}, element("legend", {}, group), element("div", {class: "choice-list parts"}, buttons));
  }

  labels() {
    if (!this.draft.labels.length) return element("p", {class: "soft"}, "No class chosen yet.");
    return element("ul", {class: "chips", "aria-label": "Labels"}, this.draft.labels.map((label) => element("li", {}, element(
      "button", {type: "button", onclick: () => this.removeLabel(label)},
      element("span", {class: "visually-hidden"}, "Remove "), this.title(label), element("span", {"aria-hidden": "true"}, "×")))));
  }

  search() {
    const field = new ClassSearch({
      id: "class-search",
      label: this.multiple ? "Add a class" : "Class",
      search: (text) => this.task.classes.matching(text, CLASSES_SHOWN)
        .map(({name, title}) => ({id: name, name: title, detail: title !== name ? name : ""})),
      choose: ({id, name}) => this.takeClass(id, name),
    });
    this.field = field;
    const present = this.single && this.given?.label
      ? element("p", {}, "Your class: ", element("strong", {}, this.title(this.given.label))) : null;
    return [present, field.element].filter(Boolean);
  }

  note() {
    const {item} = this;
    const field = element("textarea", {id: "note", rows: "2", maxlength: "2000", "aria-keyshortcuts": "n"});
    field.value = this.draft.note ?? "";
    field.addEventListener("input", () => {
      this.draft.note = field.value;
      this.saveDraft();
    });
    // Enter ends the note and goes back to the keys; Shift+Enter starts a new line.
    field.addEventListener("keydown", (event) => {
      if ((event.key === "Enter" && !event.shiftKey) || event.key === "Escape") {
        event.preventDefault();
        field.blur();
      }
    });
    // A note that is changed after the verdict belongs to it. A button of the panel takes the note with it.
    field.addEventListener("blur", ({relatedTarget}) => {
      if (relatedTarget?.matches("button") && this.root.contains(relatedTarget)) return;
      const changed = this.given && this.item === item && field.value !== (this.given.note ?? "");
      if (changed) this.decide({...this.given, note: field.value}, {stay: true});
    });
    return element("div", {}, element("label", {for: "note", class: "title"}, "Note ", element("kbd", {class: "touchless"}, "N")), field);
  }

  choose(choice) {
    if (!choice.group) {
      this.give({...this.task.blank, ...choice.verdict, note: this.draft.note ?? ""});
      return;
    }
    Object.assign(this.draft, choice.verdict);
    if (!this.confirms) {
      this.give({...this.draft});
      return;
    }
    this.saveDraft();
    this.keepFocus(() => this.render());
    announce(choice.title);
  }

  /** Decide, unless something is missing. */
  give(verdict) {
    if (this.multiple && verdict.status === "good" && !verdict.labels.length) {
      this.missing("Choose at least one class first.");
      this.field.focus();
      return;
    }
    this.decide(verdict);
  }

  missing(text) {
    this.root.querySelector("#missing").textContent = text;
    announce(text);
  }

  takeClass(id, name) {
    if (this.single) {
      this.give({...this.draft, label: id});
      return;
    }
    if (!this.draft.labels.includes(id)) this.draft.labels.push(id);
    this.saveDraft();
    this.render();
    this.field.focus();
    announce(`${name} added`);
  }

  removeLabel(label) {
    this.draft.labels = this.draft.labels.filter((other) => other !== label);
    this.saveDraft();
    this.render();
    this.field.focus();
    announce(`${this.title(label)} removed`);
  }

  /** Save what is not decided yet for when the person comes back to the item. */
  saveDraft() {
    this.drafts.save(this.item.item, this.given, this.draft);
    this.root.querySelector("#not-saved").textContent = this.notSaved;
  }

  /** A hint that the verdict was changed on this page only. */
  get notSaved() {
    return this.given && !same(this.draft, this.given) ? "Not saved yet. Press Enter in the note, or give the verdict again." : "";
  }

  confirm() {
    this.give({...this.draft});
  }

  /** Do something that replaces the panel's elements; the focus stays on the same control, and the text in the fields. */
  keepFocus(change) {
    const {activeElement: focused} = document;
    const {item} = this;
    const inside = this.root.contains(focused);
    change();
    if (!inside) return;
    if (focused.dataset.key) this.root.querySelector(`[data-key="${CSS.escape(focused.dataset.key)}"]`)?.focus();
    if (focused.id === "note" && this.item.item === item?.item) {
      const note = this.root.querySelector("#note");
      note.focus();
      note.setSelectionRange(focused.selectionStart, focused.selectionEnd);
    }
    if (focused.id === "class-search" && this.item.item === item?.item) this.field.restore(focused.value);
  }

  /** The actions for the keys. */
  get actions() {
    return [
      ...this.task.choices.map((choice) => ({keys: [choice.key], label: choice.title, run: () => this.choose(choice)})),
      ...(this.confirms ? [{keys: ["Enter"], label: "Confirm", run: () => this.confirm()}] : []),
      ...(this.single || this.multiple ? [{keys: ["/"], label: "Search for a class", run: () => this.field.focus()}] : []),
      {keys: ["n"], label: "Write a note", run: () => this.root.querySelector("#note").focus()},
    ];
  }
}
