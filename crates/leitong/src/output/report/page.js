"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const number = value => Math.round(value).toLocaleString("en");
  const data = JSON.parse($("data").textContent);
  const NAMES = ["exact", "near", "contained", "quotes"];
  const BYTES = 12, NONE = 255;

  /* Pairs: two document numbers, Jaccard and containment in hundredths, the distance, the verdict. */
  const raw = atob(data.pairs);
  const bytes = Uint8Array.from(raw, c => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const count = bytes.length / BYTES;
  const a = i => view.getUint32(i * BYTES, true), b = i => view.getUint32(i * BYTES + 4, true);
  const at = (i, place) => bytes[i * BYTES + 8 + place];
  const verdict = i => at(i, 3);
  const scale = data.share > 0 ? 1 / data.share : 1;
  const isSampled = data.share < 1;
  const about = isSampled ? "about " : "";

  const SIGNALS = {
    jaccard: { place: 0, most: 100, start: 70, bins: 50, ticks: ["0", ".25", ".5", ".75", "1"] },
    containment: { place: 1, most: 100, start: 80, bins: 50, ticks: ["0", ".25", ".5", ".75", "1"] },
    distance: { place: 2, most: 64, start: 3, bins: 65, ticks: ["0", "16", "32", "48", "64 bits"] },
  };
  let name = "jaccard";
  const signal = () => SIGNALS[name];
  const isDistance = () => name === "distance";
  const passes = (value, threshold) => isDistance() ? value <= threshold : value >= threshold;
  const written = threshold => isDistance() ? `${threshold} ${threshold === 1 ? "bit" : "bits"}` : (threshold / 100).toFixed(2);

  const binOf = value => isDistance() ? value : Math.min(signal().bins - 1, Math.floor(value / 100 * signal().bins));

  function histogram() {
    const bins = Array.from({ length: signal().bins }, () => [0, 0, 0, 0]);
    for (let i = 0; i < count; i++) {
      const value = at(i, signal().place);
      if (isDistance() && value === NONE) continue;
      bins[binOf(value)][verdict(i)]++;
    }
    return bins;
  }

  let bins = [];
  const svg = (tag, values) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const key in values) element.setAttribute(key, values[key]);
    return element;
  };

  function draw(threshold) {
    const plot = $("plot"), width = 100 / bins.length;
    const top = Math.max(1, ...bins.map(bin => bin.reduce((x, y) => x + y)));
    plot.replaceChildren();
    bins.forEach((bin, place) => {
      let y = 100;
      const low = isDistance() ? place : place * 100 / bins.length;
      bin.forEach((n, kind) => {
        if (!n) return;
        const height = Math.max(n / top * 92, .6);
        y -= height;
        const bar = svg("rect", { x: place * width + width * .07, y, width: width * .86, height, class: `${NAMES[kind]}-fill` });
        if (!passes(low, threshold)) bar.classList.add("out");
        plot.append(bar);
      });
    });
    const x = isDistance() ? (threshold + 1) * width : threshold;
    plot.append(svg("line", { x1: x, x2: x, y1: 0, y2: 100, class: "cut" }));
    plot.setAttribute("aria-label", `Pairs by ${isDistance() ? "SimHash distance" : name}: the highest bar has ${about}${number(top * scale)}`);
    $("most").textContent = `${about}${number(top * scale)}`;
  }

  /* Who would go if only this threshold decided: in the order of preference, whoever has a pair with one that stays. Of a
     sample: whoever has a pair with an earlier one. */
  function gone(threshold) {
    const going = new Set();
    for (let i = 0; i < count; i++) {
      const value = at(i, signal().place);
      if (isDistance() && value === NONE) continue;
      if (passes(value, threshold) && (isSampled || !going.has(b(i)))) going.add(a(i));
    }
    return going.size * scale + data.equal;
  }

  function show() {
    const threshold = Number($("threshold").value);
    const above = [0, 0, 0, 0];
    let unknown = 0;
    for (let i = 0; i < count; i++) {
      const value = at(i, signal().place);
      if (isDistance() && value === NONE) unknown++;
      else if (passes(value, threshold)) above[verdict(i)]++;
    }
    const pairs = above.reduce((x, y) => x + y) * scale;
    const go = gone(threshold);
    const kinds = NAMES.map((kind, at) => above[at] ? `${number(above[at] * scale)} ${kind}` : "").filter(Boolean).join(", ");
    const bound = isDistance() ? `at most ${written(threshold)}` : `${written(threshold)} or more`;
    const paragraph = (head, tail, id) => {
      const p = document.createElement("p"), b = document.createElement("b"), small = document.createElement("small");
      b.textContent = head; b.id = id; small.textContent = tail; p.append(b, small);
      return p;
    };
    $("threshold").setAttribute("aria-valuetext", bound);
    $("counts").replaceChildren(
      paragraph(bound, isDistance() ? "SimHash distance" : name === "jaccard" ? "Jaccard: runs of five letters that both have, of all" : "containment: the larger share of one text that the other has", "bound"),
      paragraph(about + number(pairs), (pairs === 1 ? "pair" : "pairs") + (kinds ? `: ${kinds}` : "") + (unknown ? `; ${number(unknown * scale)} more have no SimHash` : ""), "pairs"),
      paragraph(about + number(go), `documents would go if this threshold alone decided${data.equal ? `, ${number(data.equal)} of them equal to another` : ""}. By the rules ${number(data.removed)} go.`, "go"),
    );
    draw(threshold);
  }

  function choose(which, threshold) {
    name = which;
    const slider = $("threshold");
    slider.max = signal().most;
    slider.value = threshold ?? signal().start;
    bins = histogram();
    $("ticks").replaceChildren(...signal().ticks.map(text => {
      const span = document.createElement("span");
      span.textContent = text;
      return span;
    }));
    show();
  }

  function begin() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const distances = $("signals").querySelector("[value=distance]");
    let known = false;
    for (let i = 0; i < count && !known; i++) known = at(i, 2) !== NONE;
    distances.disabled = !known;
    $("tune").hidden = false;
    $("threshold").addEventListener("input", show);
    $("signals").addEventListener("change", event => choose(event.target.value));
    const first = SIGNALS[wanted.get("signal")] ? wanted.get("signal") : "jaccard";
    $("signals").querySelector(`[value=${first}]`).checked = true;
    choose(first);
    if (wanted.has("at")) {
      const value = Number(wanted.get("at"));
      $("threshold").value = first === "distance" ? value : Math.round(value * 100);
      $("threshold").dispatchEvent(new Event("input"));
    }
    for (const [key, id] of [["id", "query"], ["order", "order"]]) if (wanted.has(key)) $(id).value = wanted.get(key);
    if (wanted.has("verdict")) for (const box of boxes) box.checked = wanted.get("verdict").split(",").includes(box.value);
    sort();
    filter();
  }

  /* Clusters. */
  const clusters = [...document.querySelectorAll(".cluster")];
  const boxes = [...$("verdicts").querySelectorAll("input")];
  const items = clusters.map(cluster => ({
    cluster,
    kept: (cluster.dataset.kept || "").toLowerCase(),
    members: [...cluster.querySelectorAll("[data-id]")].map(element => ({ element, id: element.dataset.id.toLowerCase() })),
  }));

  function filter() {
    const query = $("query").value.trim().toLowerCase();
    const wanted = new Set(boxes.filter(box => box.checked).map(box => box.value));
    let documents = 0, visible = 0;
    for (const { cluster, kept, members } of items) {
      const whole = !query || kept.includes(query);
      let some = 0;
      for (const { element, id } of members) {
        const is = wanted.has(element.dataset.verdict) && (whole || id.includes(query));
        element.hidden = !is;
        some += is;
      }
      cluster.hidden = !some;
      if (query && some && some <= 3) for (const { element } of members) if (!element.hidden && "open" in element) element.open = true;
      documents += some;
      visible += some > 0;
    }
    $("shown").textContent = visible ? `${number(documents)} in ${number(visible)} ${visible === 1 ? "group" : "groups"}` : "nothing on this page fits; all are in the file of --removed";
  }

  function sort() {
    const key = $("order").value === "doubt" ? cluster => Number(cluster.dataset.least) : cluster => -Number(cluster.dataset.size);
    $("list").append(...[...clusters].sort((x, y) => key(x) - key(y)));
  }

  function jump(mark) {
    const pair = mark.closest(".sides"), number = mark.dataset.p;
    for (const other of document.querySelectorAll("mark.on")) other.classList.remove("on");
    for (const other of pair.querySelectorAll(`mark[data-p="${number}"]`)) {
      other.classList.add("on");
      const box = other.closest(".text");
      if (box !== mark.closest(".text")) box.scrollTo({ top: other.offsetTop - box.offsetTop - box.clientHeight / 3 });
    }
  }

  $("bar").hidden = false;
  $("query").addEventListener("input", filter);
  $("verdicts").addEventListener("change", filter);
  $("order").addEventListener("change", sort);
  document.addEventListener("click", event => { const mark = event.target.closest("mark"); if (mark) jump(mark); });
  document.addEventListener("keydown", event => {
    if (event.target.tagName === "MARK" && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); jump(event.target); }
  });
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of opened) details.open = false; });
  begin();
})();
