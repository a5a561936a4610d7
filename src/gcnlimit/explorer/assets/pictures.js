// The pictures: the latest state is asked for when the answer before it has been drawn; what takes longer follows when the controls rest.
(function () {
  const REST = 150; // milliseconds without a movement before everything else is asked for
  const HEAVY = ["gap", "layers", "table"]; // never part of a movement
  const moving = {mode: "immediate", transition: {duration: 0}, frame: {duration: 0, redraw: false}};
  const frames = {}, contents = {}, ranges = {}; // what each picture shows, without and with its numbers; its vertical range
  const root = document.documentElement;
  let count = 0, wanted = null, drawn = null, busy = false, resting = new AbortController(), timer = null, loading = null;

  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const element = (id) => document.getElementById(id);
  const graphOf = (name) => document.querySelector("#" + name + "-shown .plot");

  async function* ask(asked, signal) {
    const given = {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(asked), signal};
    try {
      const reader = (await fetch("pictures", given)).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = "", part; !(part = await reader.read()).done;) {
        const lines = (text + part.value).split("\n");
        text = lines.pop();
        yield* lines.map((line) => JSON.parse(line));
      }
    } catch (error) {
      if (!signal || !signal.aborted) yield {refused: "The explorer does not answer; is it still running?"};
    }
  }

  async function follow() {
    if (busy) return;
    busy = true;
    while (wanted !== drawn) {
      const asked = wanted;
      for await (const answer of ask({...asked, seen: seen(asked.values.family)})) {
        await show(answer);
        root.dataset.first = asked.number;
        await sleep(0); // the first picture is painted before the next is drawn
      }
      drawn = asked;
      root.dataset.drawn = asked.number;
    }
    busy = false;
    timer = setTimeout(settle, REST);
  }

  async function settle() {
    const asked = wanted, mine = (resting = new AbortController()).signal;
    for await (const answer of ask({...asked, seen: seen(asked.values.family), rest: true}, mine)) {
      if (mine.aborted) return;
      await show(answer);
      await sleep(0);
    }
    if (mine.aborted) return;
    say([...document.querySelectorAll(".answers dd")].map((place) => place.textContent).join(" "));
    root.dataset.settled = asked.number;
  }

  // pictures on the screen, first the one from which the answers in words are made
  function seen(family) {
    const first = family === "polynomial" ? "axis" : "strength-" + family;
    const names = [...document.querySelectorAll(".picture")].map((figure) => figure.id.replace("-figure", ""));
    return [first, ...names.filter((name) => name !== first && !HEAVY.includes(name) && onScreen(name))];
  }

  function onScreen(name) {
    const box = element(name + "-figure").getBoundingClientRect();
    return box.bottom > 0 && box.top < window.innerHeight;
  }

  async function show(answer) {
    write(element("refusal"), answer.refused || "");
    if (answer.refused) say(answer.refused);
    if (answer.waiting) for (const name of answer.waiting) element(name + "-figure").setAttribute("aria-busy", "true");
    if (!answer.picture) return;
    for (const [place, words] of Object.entries(answer.answers)) write(element(place), words);
    await draw(answer.picture, answer);
  }

  async function draw(name, picture) {
    const shown = element(name + "-shown");
    element(name + "-figure").setAttribute("aria-busy", String(!picture.complete));
    write(element(name + "-sentence"), picture.sentence);
    write(element(name + "-code"), picture.code);
    if (picture.table) tabulate(shown, picture.table);
    if (!picture.figure) return;
    shown.hidden = picture.figure.curves.length === 0 && !picture.figure.map;
    if (shown.hidden) return;
    shown.setAttribute("role", "img");
    shown.setAttribute("aria-label", document.querySelector("#" + name + "-figure h3").textContent + ". " + picture.sentence);
    await plotly();
    plot(name, graphOf(name), window.explorerFigure(picture.figure, root.dataset.theme));
  }

  // curves that only move are moved; axes and legends are drawn again when they change, the range of an axis when it must
  function plot(name, graph, figure) {
    const axis = figure.layout.yaxis;
    if (fits(axis.range, ranges[name])) axis.range = ranges[name];
    ranges[name] = axis.range;
    const content = JSON.stringify(figure);
    const frame = JSON.stringify([figure.layout, figure.data.map((trace) => ({...trace, x: 0, y: 0}))]);
    if (content === contents[name]) return;
    contents[name] = content;
    if (frame !== frames[name] || figure.data.some((trace) => trace.type !== "scatter")) {
      window.Plotly.react(graph, figure.data, figure.layout, {displayModeBar: false});
      if (!frames[name]) made(name, graph);
      frames[name] = frame;
      return;
    }
    const data = figure.data.map((trace) => ({x: trace.x, y: trace.y}));
    window.Plotly.animate(graph, {data}, moving).catch(() => {});
  }

  function made(name, graph) {
    new ResizeObserver(() => window.Plotly.Plots.resize(graph)).observe(graph.parentElement);
    if (name === "gap") graph.on("plotly_click", ({points: [at]}) => {
      for (const [control, value] of [["lam", at.x], ["mu", at.y]]) {
        window.dash_clientside.set_props(control, {value: Number(value.toPrecision(4))});
      }
    });
  }

  // a large script, asked for once the first answer is written in words
  const plotly = () => loading ??= new Promise((done) => {
    document.head.append(Object.assign(document.createElement("script"), {src: "plotly.js", onload: done}));
  });

  const fits = (range, old) =>
    range && old && old[0] <= range[0] && range[1] <= old[1] && old[1] - old[0] <= 2 * (range[1] - range[0]);

  // the formula of a picture, which takes long to be set, when it is first looked at
  document.addEventListener("toggle", (event) => {
    const place = event.target.matches("details.more") && event.target.querySelector(".formula");
    if (!place || place.dataset.asked) return;
    place.dataset.asked = "yes";
    const props = {children: place.title, mathjax: true};
    window.dash_clientside.set_props(place.id, {title: "", children: {namespace: "dash_core_components", type: "Markdown", props}});
  }, true);

  function tabulate(shown, rows) {
    const content = JSON.stringify(rows);
    if (shown.dataset.rows === content || rows.length < 2) return;
    shown.dataset.rows = content;
    const table = document.createElement("table");
    rows.forEach((cells, k) => {
      const row = table.insertRow();
      cells.forEach((cell) => {
        const place = row.appendChild(document.createElement(k ? "td" : "th"));
        if (!k) place.scope = "col";
        place.textContent = cell;
      });
    });
    shown.replaceChildren(table);
  }

  function write(place, text) {
    if (place.textContent !== text) place.textContent = text;
  }

  // what a screen reader says: the answers, once the controls rest
  function say(text) {
    write(element("spoken"), text);
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.explorer = Object.assign(window.dash_clientside.explorer || {}, {
    // the state of the controls, as Dash has it; of a movement it has been asked for already
    ask: function (values, dots, client) {
      const known = wanted && JSON.stringify([wanted.values, wanted.dots]);
      if (values && JSON.stringify([values, dots]) !== known) want({values, dots, client});
      return window.dash_clientside.no_update;
    },
    // one value of it, before Dash has it
    move: function (name, value) {
      if (wanted) want({...wanted, values: {...wanted.values, [name]: value}});
    },
  });

  // colours are those of the system
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function colour() {
    root.dataset.theme = dark.matches ? "dark" : "light";
    if (wanted) want(wanted);
  }
  dark.addEventListener("change", colour);
  colour();

  function want(state) {
    clearTimeout(timer);
    resting.abort();
    count += 1;
    wanted = {...state, number: count};
    root.dataset.asked = count;
    follow();
  }
})();
