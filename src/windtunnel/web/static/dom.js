// Elements are made here and nowhere from strings of HTML: labels, notes and file names stay text.

/** Make an element. Attributes that start with "on" are listeners; true and false set or omit an attribute. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** Replace the children of an element. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}

/** A number in the way of the page's language, such as 71,660. */
export const count = (value) => Number(value).toLocaleString("en");

/** "1 image" or "2 images". */
export const counted = (value, noun, plural = `${noun}s`) => `${count(value)} ${value === 1 ? noun : plural}`;

/** Say something to screen readers, politely. */
export function announce(text) {
  const region = byId("live");
  // The same text twice is announced twice: a change is what screen readers notice.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}
