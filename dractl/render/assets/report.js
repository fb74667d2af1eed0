"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);  // strings become text, never markup
    return element;
  };

  const root = document.documentElement, theme = byId("theme"), themes = ["system", "light", "dark"];
  const remember = (value) => { try { localStorage.setItem("dractl-theme", value); } catch { /* not allowed here */ } };
  const remembered = () => { try { return localStorage.getItem("dractl-theme"); } catch { return null; } };
  const setTheme = (name) => {
    if (name === "system") delete root.dataset.theme; else root.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
    theme.dataset.now = name;
  };
  setTheme(themes.includes(remembered()) ? remembered() : "system");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme.dataset.now) + 1) % themes.length];
    setTheme(next);
    remember(next);
  });
  let unfolded = [];  // paper shows all; afterwards the page is as it was
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const item of unfolded) item.open = true;
  });
  window.addEventListener("afterprint", () => { for (const item of unfolded) item.open = false; });

  const map = byId("map");
  if (!map) return;
  const { strings, states, places } = JSON.parse(byId("data").textContent);
  const texts = (numbers) => (numbers || []).map((number) => strings[number]);
  const nodes = places.map(([name, beside, devices]) => ({
    name: strings[name], beside: strings[beside],
    devices: devices.map((row) => ({
      name: strings[row[0]], driver: strings[row[1]], pool: strings[row[2]], state: row[3],
      product: strings[row[4] || 0], root: strings[row[5] || 0], numa: strings[row[6] || 0],
      holders: texts(row[7]), taints: texts(row[8]), reasons: texts(row[9]),
    })),
  }));
  const collator = new Intl.Collator("en", { numeric: true });
  nodes.sort((one, two) => collator.compare(one.name, two.name));
  const searchable = new Map();
  const textOf = (device) => {
    let found = searchable.get(device);
    if (found === undefined) {
      found = [device.driver, device.pool, device.name, device.product, device.root, ...device.holders,
        ...device.taints].join("\n").toLowerCase();
      searchable.set(device, found);
    }
    return found;
  };

  const PAGE = 100, FREE = states.findIndex(([state]) => state === "free");
  const isTrouble = states.map(([state]) => ["tainted", "pool-incomplete", "node-missing"].includes(state));
  const many = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  let shown = [], page = 0, open = null;

  const mark = (state, more = "") => make("span", { class: `d ${states[state][0]}${more}`, "aria-hidden": "true" },
    states[state][1]);

  const fill = () => {
    const drivers = new Set(), used = new Set();
    for (const node of nodes) for (const device of node.devices) { drivers.add(device.driver); used.add(device.state); }
    for (const driver of [...drivers].sort()) byId("driver").append(make("option", { value: driver }, driver));
    states.forEach(([state, , meaning], number) => {
      if (!used.has(number)) return;
      byId("state").append(make("option", { value: String(number) }, state));
      byId("legend").append(make("li", {}, mark(number), ` ${state}${meaning === state ? "" : `: ${meaning}`}`));
    });
  };

  const choose = () => {
    const text = byId("text").value.trim().toLowerCase(), driver = byId("driver").value, state = byId("state").value;
    const bare = !driver && state === "";
    let total = 0, matching = 0;
    shown = [];
    for (const node of nodes) {
      const named = !text || `${node.name}\n${node.beside}`.toLowerCase().includes(text);
      const devices = driver ? node.devices.filter((device) => device.driver === driver) : node.devices;
      const hits = new Set(devices.filter((device) => (state === "" || device.state === Number(state))
        && (named || textOf(device).includes(text))));
      total += node.devices.length;
      matching += hits.size;
      if (hits.size || (named && bare)) shown.push({ node, devices, hits });
    }
    const score = { free: (device) => device.state === FREE, trouble: (device) => isTrouble[device.state] };
    const by = score[byId("order").value];
    if (by) {
      for (const row of shown) row.score = [...row.hits].filter(by).length;
      shown.sort((one, two) => two.score - one.score);
    }
    page = 0;
    byId("count").textContent = `${shown.length.toLocaleString("en")} of ${many(nodes.length, "row")}, `
      + `${matching.toLocaleString("en")} of ${many(total, "device")}`;
    draw();
  };

  const groups = (row) => {
    const drivers = new Map();
    for (const device of row.devices) {
      if (!drivers.has(device.driver)) drivers.set(device.driver, []);
      drivers.get(device.driver).push(device);
    }
    return [...drivers].map(([driver, devices]) => {
      const counts = new Map();
      for (const device of devices) counts.set(device.state, (counts.get(device.state) || 0) + 1);
      const words = [...counts].map(([state, number]) => `${number} ${states[state][0]}`).join(", ");
      const cells = devices.map((device) => {
        const cell = mark(device.state, row.hits.has(device) ? "" : " dim");
        cell.title = [`${device.name}: ${states[device.state][0]}`, device.product, ...device.holders].filter(Boolean)
          .join("\n");
        return cell;
      });
      return make("span", { class: "group", role: "img", "aria-label": `${driver}: ${words}` },
        make("small", {}, driver), ...cells);
    });
  };

  const wiring = (node) => {
    const places = new Map();
    for (const device of node.devices) {
      if (!device.root && !device.numa) continue;
      const key = [device.numa && `NUMA ${device.numa}`, device.root && `root ${device.root}`].filter(Boolean)
        .join(", ");
      if (!places.has(key)) places.set(key, []);
      places.get(key).push(device);
    }
    if (!places.size) return [];
    const items = [...places].sort((one, two) => collator.compare(one[0], two[0])).map(([key, devices]) =>
      make("li", {}, `${key}: `, ...devices.flatMap((device) => [mark(device.state), ` ${device.name}  `])));
    return [make("h4", {}, "Wiring, as the drivers publish it"), make("ul", {}, ...items)];
  };

  const why = ({ reasons, taints }) => [...reasons, ...taints.filter((taint) => !reasons.some((reason) =>
    reason.includes(taint))).map((taint) => `taint ${taint}`)].join("; ");

  const panel = (row, id) => {
    const { node } = row;
    const columns = [["product", (device) => device.product], ["holders", (device) => device.holders.join("; ")],
      ["why", why]].filter(([, content]) => row.devices.some(content));
    // the roles say what the elements are where narrow windows show the cells below each other
    const lines = row.devices.map((device) => make("tr", { role: "row" },
      make("th", { scope: "row", role: "rowheader" }, `${device.driver}/${device.pool}/${device.name}`),
      make("td", { role: "cell" }, mark(device.state), ` ${states[device.state][0]}`),
      ...columns.map(([name, content]) => make("td", { role: "cell", "data-name": name }, content(device)))));
    const head = make("tr", { role: "row" }, ...["device", "state", ...columns.map(([name]) => name)].map((name) =>
      make("th", { scope: "col", role: "columnheader" }, name)));
    const table = make("table", { role: "table" }, make("caption", {}, `Devices of ${node.name}`),
      make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }, ...lines));
    const parts = [make("h3", {}, node.name)];
    if (node.beside) parts.push(make("p", {}, node.beside));
    parts.push(...wiring(node));
    parts.push(row.devices.length
      ? make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Devices of ${node.name}` }, table)
      : make("p", {}, "No devices are published for it."));
    return make("tr", { class: "panel", id }, make("td", { colspan: "3" }, ...parts));
  };

  const drawRow = (row, number, body) => {
    const id = `panel-${number}`;
    const button = make("button", { type: "button", "aria-expanded": "false" }, row.node.name);
    const free = row.devices.filter((device) => device.state === FREE).length;
    const label = make("th", { scope: "row" }, button);
    if (row.node.beside) label.append(make("div", { class: "quiet" }, row.node.beside));
    const line = make("tr", {}, label, make("td", { class: "number" }, `${free}/${row.devices.length}`),
      make("td", {}, ...groups(row)));
    const toggle = () => {
      const there = byId(id);
      if (there) { there.remove(); button.removeAttribute("aria-controls"); } else {
        const opened = panel(row, id);
        opened.addEventListener("keydown", (event) => {
          if (event.key !== "Escape") return;
          toggle();
          button.focus();
        });
        line.after(opened);
        button.setAttribute("aria-controls", id);
      }
      button.setAttribute("aria-expanded", String(!there));
      open = there ? null : row.node;
    };
    button.addEventListener("click", toggle);
    button.addEventListener("keydown", (event) => { if (event.key === "Escape" && byId(id)) toggle(); });
    line.addEventListener("click", (event) => { if (event.target.closest(".d")) toggle(); });
    body.append(line);
    if (open === row.node) toggle();
  };

  const draw = () => {
    const body = document.createDocumentFragment();
    shown.slice(page * PAGE, (page + 1) * PAGE).forEach((row, number) => drawRow(row, number, body));
    if (!shown.length) body.append(make("tr", {}, make("td", { colspan: "3" }, "No node matches the filter.")));
    byId("nodes").tBodies[0].replaceChildren(body);
    const pages = Math.ceil(shown.length / PAGE), bar = byId("pages");
    bar.replaceChildren();
    if (pages < 2) return;
    const go = (text, to) => {
      const button = make("button", { type: "button" }, text);
      button.disabled = to < 0 || to >= pages;
      button.addEventListener("click", () => {
        page = to;
        draw();
        (([...bar.querySelectorAll("button")].find((one) => one.textContent === text && !one.disabled))
          || bar.querySelector("button:not(:disabled)")).focus();
      });
      return button;
    };
    const where = `Page ${page + 1} of ${pages}`;
    bar.append(go("Previous", page - 1), make("span", { role: "status" }, where), go("Next", page + 1));
  };

  let waiting = 0;
  byId("text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 120); });
  for (const id of ["driver", "state", "order"]) byId(id).addEventListener("change", choose);
  byId("filter").addEventListener("submit", (event) => { event.preventDefault(); choose(); });
  byId("filter").addEventListener("reset", () => setTimeout(choose));
  fill();
  map.hidden = false;
  choose();
})();
