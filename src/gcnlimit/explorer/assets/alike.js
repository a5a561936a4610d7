// A small graph whose nodes become alike: every layer replaces the value of a node by the mean over itself and its neighbours.
(function () {
  const NODES = 30, MOST = 20, SVG = "http://www.w3.org/2000/svg";
  const make = (parent, tag, values) => {
    const made = parent.appendChild(tag === tag.toUpperCase() ? document.createElement(tag) : document.createElementNS(SVG, tag));
    for (const [name, value] of Object.entries(values || {})) made.setAttribute(name, value);
    return made;
  };

  // the same numbers each time: a small congruential generator
  function generator(seed) {
    return () => (seed = (1103515245 * seed + 12345) % 2147483648) / 2147483648;
  }

  function sample(homophilic) {
    const random = generator(7), normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const nodes = Array.from({length: NODES}, (_, k) => {
      const side = k % 2 ? 1 : -1, angle = 2 * Math.PI * Math.floor(k / 2) / (NODES / 2), ring = 55 + 45 * (Math.floor(k / 2) % 2);
      return {side, x: 160 + 130 * side + ring * Math.cos(angle) - 30 * side, y: 120 + ring * Math.sin(angle), start: 0.5 * side + 0.8 * normal(), near: []};
    });
    nodes.forEach((a, i) => nodes.forEach((b, j) => {
      const alike = (a.side === b.side) === homophilic;
      if (i < j && random() < (alike ? 0.24 : 0.07)) { a.near.push(j); b.near.push(i); }
    }));
    nodes.forEach((a, i) => { if (!a.near.length) { a.near.push((i + 2) % NODES); nodes[(i + 2) % NODES].near.push(i); } });
    return nodes;
  }

  function smooth(nodes, layers) {
    let values = nodes.map((node) => node.start);
    for (let k = 0; k < layers; k += 1) {
      values = nodes.map((node, i) => node.near.reduce((sum, j) => sum + values[j], values[i]) / (node.near.length + 1));
    }
    return values;
  }

  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

  // blue below 0, orange above, as the curves are; pale near 0
  function colour(value) {
    const share = Math.min(Math.abs(value), 1), ends = value < 0 ? [0, 114, 178] : [213, 94, 0];
    return "rgb(" + ends.map((end) => Math.round(235 + share * (end - 235))).join(",") + ")";
  }

  function draw(place, homophilic) {
    const nodes = sample(homophilic);
    place.replaceChildren();
    const title = make(place, "H3", {id: "alike-title"});
    title.textContent = "What oversmoothing looks like";
    const picture = make(place, "svg", {viewBox: "-55 10 430 220", role: "img", "aria-labelledby": "alike-title alike-words", id: "alike-drawing"});
    nodes.forEach((a, i) => a.near.forEach((j) => {
      if (i < j) make(picture, "line", {x1: a.x, y1: a.y, x2: nodes[j].x, y2: nodes[j].y});
    }));
    const marks = nodes.map((a) => a.side < 0
      ? make(picture, "circle", {cx: a.x, cy: a.y, r: 7})
      : make(picture, "rect", {x: a.x - 6.5, y: a.y - 6.5, width: 13, height: 13}));
    const row = make(place, "DIV", {class: "number"});
    const label = make(row, "LABEL", {for: "alike-layers"});
    label.textContent = "layers";
    const slider = make(row, "INPUT", {type: "range", id: "alike-layers", min: 0, max: MOST, step: 1, value: 0});
    const count = make(row, "OUTPUT", {for: "alike-layers"});
    const words = make(place, "FIGCAPTION", {id: "alike-words"});
    function show() {
      const layers = Number(slider.value), values = smooth(nodes, layers), middle = mean(values);
      marks.forEach((mark, k) => mark.setAttribute("fill", colour(values[k])));
      const right = mean(nodes.map((node, k) => ((values[k] - middle) * node.side > 0 ? 1 : 0)));
      const spread = Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
      count.textContent = String(layers);
      const told = layers === 0 ? "Circles and squares are two classes; colours are one noisy feature. "
        : "After " + layers + (layers === 1 ? " layer that averages" : " layers that average") + " each node with its neighbours: ";
      words.textContent = told + Math.round(100 * right) + " % of the nodes are on the side of their class, and the standard deviation of the values is "
        + spread.toFixed(2) + "."
        + (spread < 0.15 ? " The nodes have become alike: with a little noise, no network can tell them apart." : "");
    }
    slider.addEventListener("input", (event) => { event.stopPropagation(); show(); });
    show();
  }

  let drawn = null;
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.explorer = Object.assign(window.dash_clientside.explorer || {}, {
    alike: function (state) {
      const homophilic = !(state && state.lam < 0), place = document.getElementById("alike");
      if (place && drawn !== homophilic) { drawn = homophilic; draw(place, homophilic); }
      return window.dash_clientside.no_update;
    },
  });
})();
