// The pictures: the latest state is asked for when the answer before it has been drawn; what takes longer follows when the controls rest.
(function () {
  const REST = 250; // milliseconds without a movement before slow pictures are asked for
  const moving = {mode: "immediate", transition: {duration: 0}, frame: {duration: 0, redraw: false}};
  const frames = {}, contents = {}; // what each picture shows, without and with its numbers
  let count = 0, wanted = null, drawn = null, busy = false, slow = null, timer = null;

  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const graphOf = (name) => document.querySelector("#" + name + "-shown .js-plotly-plot");

  async function post(asked, signal) {
    const given = {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(asked), signal};
    try {
      return await (await fetch("pictures", given)).json();
    } catch (error) {
      return signal && signal.aborted ? {} : {refused: "The explorer does not answer; is it still running?"};
    }
  }

  async function follow() {
    if (busy) return;
    busy = true;
    while (wanted !== drawn) {
      const asked = wanted, answer = await post(asked);
      drawn = asked;
      await show(answer);
      document.documentElement.dataset.drawn = asked.number;
    }
    busy = false;
    timer = setTimeout(complete, REST);
  }

  async function complete() {
    const asked = wanted, mine = (slow = new AbortController()), tried = new Set();
    await unseen();
    for (let name; (name = waiting(tried)) && !mine.signal.aborted;) {
      tried.add(name);
      const answer = await post({...asked, picture: name}, mine.signal);
      if (mine.signal.aborted) return;
      await show(answer);
      await unseen();
    }
    if (!mine.signal.aborted) say(["depth-answer", "gain-answer"].map((id) => document.getElementById(id).textContent).join(" "));
  }

  const waiting = (tried) => order.find((name) => !tried.has(name));
  let order = [], unseen = async () => {}; // pictures to be completed, and those out of sight, drawn when the controls rest

  async function show(answer) {
    const refusal = document.getElementById("refusal");
    write(refusal, answer.refused || "");
    if (answer.refused) say(answer.refused);
    if (!answer.pictures || !answer.waiting) return;
    order = answer.waiting;
    write(document.getElementById("depth-answer"), answer.depth);
    write(document.getElementById("gain-answer"), answer.gain);
    const names = Object.keys(answer.pictures), seen = names.filter((name) => light(answer.pictures[name]) && onScreen(name));
    for (const name of seen) await draw(name, answer.pictures[name]);
    unseen = async () => {
      for (const name of names) if (wanted === drawn && !seen.includes(name)) await draw(name, answer.pictures[name]);
    };
  }

  const light = (picture) => picture.figure && picture.figure.data.every((trace) => trace.type === "scatter");

  function onScreen(name) {
    const box = document.getElementById(name + "-figure").getBoundingClientRect();
    return box.bottom > 0 && box.top < window.innerHeight;
  }

  async function draw(name, picture) {
    const shown = document.getElementById(name + "-shown");
    document.getElementById(name + "-figure").setAttribute("aria-busy", String(!picture.complete));
    write(document.getElementById(name + "-sentence"), picture.sentence);
    write(document.getElementById(name + "-code"), picture.code);
    if (picture.table) return tabulate(shown, picture.table);
    shown.setAttribute("role", "img");
    shown.setAttribute("aria-label", document.querySelector("#" + name + "-figure h3").textContent + ". " + picture.sentence);
    while (!window.Plotly || !graphOf(name)) await sleep(30);
    plot(name, graphOf(name), picture.figure);
  }

  // curves that only move are moved; axes and legends are drawn again when they change
  function plot(name, graph, figure) {
    const content = JSON.stringify(figure);
    const frame = JSON.stringify([figure.layout, figure.data.map((trace) => ({...trace, x: 0, y: 0}))]);
    if (content === contents[name]) return;
    contents[name] = content;
    if (frame !== frames[name] || !light({figure})) {
      frames[name] = frame;
      window.Plotly.react(graph, figure.data, figure.layout);
      return;
    }
    const data = figure.data.map((trace) => ({x: trace.x, y: trace.y}));
    window.Plotly.animate(graph, {data}, moving).catch(() => {});
  }

  function tabulate(shown, rows) {
    const content = JSON.stringify(rows);
    if (shown.dataset.rows === content || rows.length < 2) return;
    shown.dataset.rows = content;
    const table = document.createElement("table");
    rows.forEach((cells, k) => {
      const row = table.insertRow();
      cells.forEach((cell) => {
        const element = row.appendChild(document.createElement(k ? "td" : "th"));
        if (!k) element.scope = "col";
        element.textContent = cell;
      });
    });
    shown.replaceChildren(table);
  }

  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  // what a screen reader says: the answers, once the controls rest
  function say(text) {
    write(document.getElementById("spoken"), text);
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.explorer = Object.assign(window.dash_clientside.explorer || {}, {
    // the state of the controls, as Dash has it
    ask: function (values, theme, dots, client) {
      if (values) want({values, theme, client});
      return window.dash_clientside.no_update;
    },
    // one value of it, before Dash has it
    move: function (name, value) {
      if (wanted) want({...wanted, values: {...wanted.values, [name]: value}});
    },
  });

  function want(state) {
    clearTimeout(timer);
    if (slow) slow.abort();
    count += 1;
    wanted = {...state, number: count};
    document.documentElement.dataset.asked = count;
    follow();
  }
})();
