// Sliders, the state of the page, its colours and its downloads: what needs no server.
(function () {
  const names = ["alpha", "lam", "mu", "rho", "classes", "directed", "family", "depth", "c", "t", "theta", "coefficients",
    "loss", "reg", "symmetrize", "axis", "nodes", "degree", "trials"];
  const shownBy = {c: "residual", depth: "residual", t: "diffusion", theta: "pagerank", coefficients: "polynomial"};
  let count = 0;

  const scale = (limit, v) => (limit.log ? Math.log(v) : v);
  const toPosition = (limit, v) =>
    Math.round(1000 * (scale(limit, v) - scale(limit, limit.low)) / (scale(limit, limit.high) - scale(limit, limit.low)));
  function toValue(limit, position) {
    const low = scale(limit, limit.low), at = low + (position / 1000) * (scale(limit, limit.high) - low);
    const value = limit.log ? Math.exp(at) : at;
    if (limit.whole) return Math.round(value);
    return Number(limit.log ? value.toPrecision(3) : value.toFixed(3));
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    explorer: {
      // a slider and its number field follow each other
      follow: function (position, value, limits) {
        const no = window.dash_clientside.no_update, id = window.dash_clientside.callback_context.triggered_id;
        if (!id) return [no, no];
        const name = id.replace("-slider", ""), limit = limits[name];
        if (id.endsWith("-slider")) {
          const wanted = toValue(limit, Number(position));
          return [no, toPosition(limit, Number(value)) === Number(position) ? no : wanted];
        }
        return [value === null || value === undefined || value === "" ? no : toPosition(limit, Number(value)), no];
      },
      // every control into one state, and into the address of the page
      collect: function (...values) {
        const infinite = values.pop(), state = {};
        names.forEach((name, k) => { state[name] = Array.isArray(values[k]) ? values[k].length > 0 : values[k]; });
        if (infinite.length > 0) state.reg = "inf";
        for (const name of Object.keys(shownBy)) {
          const control = document.getElementById(name + "-control");
          if (control) control.hidden = shownBy[name] !== state.family;
        }
        document.querySelectorAll("input[type=range]").forEach((slider) => {
          const label = document.querySelector('label[for="' + slider.id.replace("-slider", "") + '"]');
          if (label) slider.setAttribute("aria-label", label.textContent + ", slider");
        });
        const reg = document.getElementById("reg-control");
        if (reg) reg.hidden = infinite.length > 0;
        const query = names.map((n) => n + "=" + encodeURIComponent(state[n])).join("&");
        window.history.replaceState(null, "", window.location.pathname + "?" + query);
        count += 1;
        return [{values: state, number: count}, window.location.href];
      },
      theme: function (mode) {
        const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
        const theme = mode === "automatic" ? (dark ? "dark" : "light") : mode;
        document.documentElement.dataset.theme = theme;
        return theme;
      },
      save: function (clicks) {
        const id = window.dash_clientside.callback_context.triggered_id;
        if (!clicks || !id) return window.dash_clientside.no_update;
        const cut = id.lastIndexOf("-"), name = id.slice(0, cut), format = id.slice(cut + 1);
        const graph = document.querySelector("#" + name + "-shown .js-plotly-plot");
        if (graph) window.Plotly.downloadImage(graph, {format: format, filename: "gcnlimit-" + name, width: 900, height: 600});
        return window.dash_clientside.no_update;
      },
    },
  });
})();
