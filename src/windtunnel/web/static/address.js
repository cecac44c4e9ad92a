// The state of a page is its address, so that links can be shared.

/** The parameters of the page's address. */
export const parameters = () => new URLSearchParams(location.search);

/** Change parameters of the address without loading the page again; empty values are removed. */
export function change(values) {
  const present = parameters();
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined) present.delete(name);
    else present.set(name, value);
  }
  history.replaceState(null, "", present.size ? `?${present}` : location.pathname);
}

/** Call a function some time after the last of several calls. */
export function later(action, pause = 200) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, pause);
  };
}

/** Options of a select element; the value is chosen if it is one of them. */
export function fillSelect(select, options, value) {
  select.replaceChildren(...options.map(({key, title}) => new Option(title, key)));
  if (options.some(({key}) => key === value)) select.value = value;
  return select.value;
}

/** Whether a run matches every word of a filter. */
export function matchesRun(run, text) {
  const all = `${run.run} ${run.model} ${run.data} ${run.suite}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
