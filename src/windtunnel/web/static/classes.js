// The classes of a task. They are loaded once; searching them needs no server.
import {get} from "./requests.js";

const LETTER = /[\p{L}\p{N}_]/u;

/** Whether a word of the text begins with these letters. */
function beginsWord(text, letters) {
  for (let at = text.indexOf(letters); at >= 0; at = text.indexOf(letters, at + 1)) {
    if (at === 0 || !LETTER.test(text[at - 1])) return true;
  }
  return false;
}

/** Names of classes with their titles, [{name, title}]. */
export class Classes {
  constructor(rows) {
    this.rows = rows.map(({name, title}) => ({
      name, title, names: [name.toLowerCase(), title.toLowerCase()], text: `${name} ${title}`.toLowerCase(),
    }));
    this.titles = new Map(rows.map(({name, title}) => [name, title]));
  }

  /** The words for a class, such as those of a WordNet id; else its name. */
  title(name) {
    return this.titles.get(name) ?? name;
  }

  /** The classes of a task from the server; none for kinds that do not ask for classes. */
  static async load(task) {
    return new Classes(task.classes ? await get(`/api/tasks/${encodeURIComponent(task.task)}/classes`) : []);
  }

  /** Classes that contain all words of a query: the exact name or title first, then those that begin with the query. */
  matching(query, limit) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const [first] = words;
    if (!first) return [];
    const asked = words.join(" ");
    const rank = ({names, text}) => [
      !names.includes(asked), !text.startsWith(asked), !names[1].startsWith(first), !beginsWord(text, first),
    ].reduce((sum, later) => 2 * sum + later, 0);
    return this.rows
      .filter(({text}) => words.every((word) => text.includes(word)))
      .map((row) => ({row, rank: rank(row)}))
      .sort((a, b) => a.rank - b.rank)
      .slice(0, limit)
      .map(({row}) => row);
  }
}
