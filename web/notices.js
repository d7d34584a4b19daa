// What the page says in its own words: loading progress, notices that stop it, and the summary that is
// read aloud.

const byId = (id) => document.getElementById(id);

// 1536 -> "1.5 kB"; sizes as downloads count them.
export function sizeText(bytes) {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A line with a bar under "Loading"; returns progress(loaded, total). */
export function addPart(label) {
  const row = document.createElement("div");
  const name = document.createElement("dt");
  const count = document.createElement("dd");
  const bar = document.createElement("progress");
  name.textContent = label;
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", label);
  row.append(name, count, bar);
  byId("parts").append(row);
  return (loaded, total) => {
    bar.value = total > 0 ? loaded / total : 0;
    count.textContent = loaded < total ? `${sizeText(loaded)} of ${sizeText(total)}` : sizeText(loaded);
  };
}

export function hideLoading() {
  byId("loading").hidden = true;
}

/** The thin bar over the panels while the weights arrive. */
export function showWeights(loaded, total) {
  const bar = byId("weights");
  const share = total > 0 ? loaded / total : 0;
  bar.hidden = false;
  bar.setAttribute("aria-valuenow", String(Math.round(100 * share)));
  bar.firstElementChild.style.width = `${100 * share}%`;
}

export function hideWeights() {
  byId("weights").hidden = true;
}

/** Stops the page with a sentence and what to do. */
export function showNotice(title, text, fix = "") {
  byId("loading").hidden = true;
  hideWeights();
  byId("notice-title").textContent = title;
  byId("notice-text").textContent = text;
  byId("notice-fix").textContent = fix;
  byId("notice-fix").hidden = fix === "";
  byId("notice").hidden = false;
}

/** Read aloud by screen readers when it changes. */
export function say(text) {
  if (byId("summary").textContent !== text) byId("summary").textContent = text;
}

/** Read aloud at once: the sentence that the panels show for a refused command. "" takes it back. */
export function alarm(text) {
  byId("alert").textContent = text;
}
