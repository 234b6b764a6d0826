// Keyboard, the chosen hit, and pages that notice when the engine stops.
"use strict";

const LOST_POLL_MS = 1000;
const PING_MS = 30000;

document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = document.querySelector("meta[name=csrf]").content;
});

function choose(hit) {
  for (const one of document.querySelectorAll(".hit[aria-current]")) one.removeAttribute("aria-current");
  hit.setAttribute("aria-current", "true");
}

function scrollToPassage() {
  const mark = document.querySelector(".pageimage .marked rect");
  const image = document.querySelector(".pageimage .marked img");
  if (mark && image) {
    const pane = image.closest(".pageimage");
    const show = () => { pane.scrollTop = Math.max(0, Number(mark.getAttribute("y")) * image.clientHeight - 60); };
    if (image.complete) show(); else image.addEventListener("load", show);
  }
  const here = document.getElementById("here");
  const box = here && here.closest(".pagetext");
  if (box) box.scrollTop = Math.max(0, here.offsetTop - box.offsetTop - 48);
}

// A page without an image (its file is gone) shows its text only.
function hideImage(image) {
  const pane = image.closest(".pageimage, .paper .marked");
  if (!pane && !image.closest(".thumb")) return;
  (pane || image).hidden = true;
  const note = pane && pane.parentElement.querySelector(".gone");
  if (note) note.hidden = false;
}
document.addEventListener("error", (event) => {
  if (event.target.matches && event.target.matches("img")) hideImage(event.target);
}, true);

// The boxes of a chunk light up with its line in the list.
for (const [name, lit] of [["mouseover", true], ["mouseout", false]]) {
  document.addEventListener(name, (event) => {
    const line = event.target.closest("[data-chunk]");
    const boxes = line && document.getElementById(line.dataset.chunk);
    if (boxes) boxes.classList.toggle("lit", lit);
  });
}

document.addEventListener("click", (event) => {
  const hit = event.target.closest(".hit");
  if (hit) choose(hit);
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (!document.getElementById("passage")) return;
  scrollToPassage();
  const narrow = window.matchMedia("(max-width: 60rem)").matches;
  if (narrow && event.detail.requestConfig.elt.matches(".hit")) {
    document.getElementById("passage").scrollIntoView({ block: "start" });
  }
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.querySelector("#search input[type=search]");
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "/" && box && !typing) {
    event.preventDefault();
    box.focus();
    box.select();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (!typing || typing === box)) {
    const hits = [...document.querySelectorAll(".hit")];
    if (!hits.length || event.target.closest(".pagetext")) return;
    const now = hits.findIndex((hit) => hit.hasAttribute("aria-current"));
    const focused = hits.includes(document.activeElement);
    const step = event.key === "ArrowDown" ? 1 : -1;
    const next = hits[focused ? Math.min(Math.max(now + step, 0), hits.length - 1) : Math.max(now, 0)];
    event.preventDefault();
    next.focus();
    if (!next.hasAttribute("aria-current")) next.click();
  } else if (event.key === "Enter" && event.target.matches(".hit[aria-current][data-open]")) {
    event.preventDefault();
    location.assign(event.target.dataset.open);
  }
});

// A change of the mode searches again.
document.addEventListener("change", (event) => {
  if (event.target.matches("#search input[name=mode]") && document.querySelector("#search input[name=q]").value) {
    event.target.form.requestSubmit();
  }
});

let lost = false;
async function check() {
  try {
    const answer = await fetch("/alive", { cache: "no-store" });
    // Any other answer comes from the log-in: the session has expired.
    if (lost || answer.status !== 204) location.reload();
  } catch {
    lost = true;
    document.getElementById("lost").hidden = false;
  }
  setTimeout(check, lost ? LOST_POLL_MS : PING_MS);
}
document.addEventListener("htmx:sendError", () => { lost = true; document.getElementById("lost").hidden = false; });
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.images) if (image.complete && !image.naturalWidth && image.loading !== "lazy") hideImage(image);
  const page = document.querySelector(".pages [aria-current]");
  if (page) {
    page.parentElement.scrollTop = page.offsetTop - page.parentElement.offsetTop - 80;
    page.parentElement.scrollLeft = page.offsetLeft - page.parentElement.offsetLeft - 80;
  }
  const part = document.querySelector(".top nav [aria-current]");
  if (part) part.parentElement.scrollLeft = part.offsetLeft - 80;
  const section = document.querySelector(".sections [aria-current]");
  if (section) section.parentElement.scrollTop = section.offsetTop - section.parentElement.offsetTop - 80;
  scrollToPassage(); setTimeout(check, PING_MS); });

// Dialogs, which ask before something goes.
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  const closer = event.target.closest("[data-closes]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  if (closer) document.getElementById(closer.dataset.closes).close();
});
document.addEventListener("htmx:responseError", (event) => {
  const place = document.getElementById(event.detail.elt.dataset.failed || "");
  if (!place) return;
  let message = event.detail.xhr.responseText;
  try { message = JSON.parse(message).error.message; } catch { /* not JSON */ }
  place.textContent = message;
  place.hidden = false;
});

// The list of documents changes when an ingest ends.
let activeJobs = 0;
document.addEventListener("htmx:afterSettle", () => {
  const jobs = document.getElementById("jobs");
  if (!jobs) return;
  const active = Number(jobs.dataset.active);
  if (active < activeJobs) {
    fetch(location.href, { headers: { Accept: "text/html" } }).then((answer) => answer.text()).then((text) => {
      const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("#main > .scroll");
      const old = document.querySelector("#main > .scroll, #main > .empty");
      if (fresh && old) old.replaceWith(fresh);
    });
  }
  activeJobs = active;
});

// Uploads, one after the other. The engine has the queue of what it has received.
function line(name) {
  const item = document.createElement("li");
  item.className = "job running";
  const label = document.createElement("span");
  label.className = "name";
  label.textContent = name;
  const state = document.createElement("span");
  state.className = "state";
  state.textContent = "Uploading";
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", "Upload of " + name);
  const cancel = document.createElement("button");
  cancel.className = "small";
  cancel.textContent = "Cancel";
  const message = document.createElement("span");
  message.className = "message";
  item.append(label, state, cancel, bar, message);
  document.getElementById("sending").append(item);
  return { item, state, bar, cancel, message };
}

function fail(shown, text) {
  shown.item.className = "job failed";
  shown.state.textContent = "Failed";
  shown.message.textContent = text;
  shown.bar.remove();
  shown.cancel.textContent = "Dismiss";
  shown.cancel.onclick = () => shown.item.remove();
}

function send(file, form, drop) {
  const shown = line(file.name);
  const application = form.elements.application.value.trim();
  const extension = "." + file.name.split(".").pop().toLowerCase();
  if (!application) {
    form.elements.application.focus();
    return fail(shown, "Name the application that the document belongs to, then drop it again.");
  }
  if (!drop.dataset.extensions.split(" ").includes(extension)) {
    return fail(shown, "Files of this type cannot be ingested. Supported are: " + drop.dataset.extensions.replaceAll(" ", ", ") + ".");
  }
  if (file.size > Number(drop.dataset.maxBytes)) {
    return fail(shown, "The file is too large: an upload may have " + (drop.dataset.maxBytes >> 20) + " MiB. Ingest it with quinion ingest, which reads it where it is.");
  }
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    const query = new URLSearchParams({ name: file.name, application, type: form.elements.type.value });
    request.open("POST", "/documents/upload?" + query);
    request.setRequestHeader("X-CSRF-Token", document.querySelector("meta[name=csrf]").content);
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = (event) => { shown.bar.value = event.loaded / event.total; };
    request.onload = () => {
      if (request.status === 202) {
        shown.item.remove();
        htmx.ajax("GET", "/jobs", { target: "#jobs", swap: "outerHTML" });
      } else {
        let text = "The upload was refused (" + request.status + ").";
        try { text = JSON.parse(request.responseText).error.message; } catch { /* not JSON */ }
        fail(shown, text);
      }
    };
    request.onerror = () => fail(shown, "The connection was lost. Drop the file again.");
    request.onabort = () => shown.item.remove();
    request.onloadend = done;
    shown.cancel.onclick = () => request.abort();
    request.send(file);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  const drop = document.getElementById("drop");
  if (!drop) return;
  const jobs = document.getElementById("jobs");
  activeJobs = Number(jobs.dataset.active);
  const form = document.getElementById("upload");
  form.addEventListener("submit", (event) => event.preventDefault());
  const all = async (files) => { for (const file of files) await send(file, form, drop); };
  form.querySelector("input[type=file]").addEventListener("change", (event) => {
    all([...event.target.files]);
    event.target.value = "";
  });
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    all([...event.dataTransfer.files]);
  });
});
