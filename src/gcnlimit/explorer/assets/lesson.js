// The lesson: a bar above the pictures that steps from one address to the next, and says what to look for.
(function () {
  const make = (parent, tag, text, values) => Object.assign(parent.appendChild(document.createElement(tag)), {textContent: text}, values);
  let step = -1;

  function build(place, steps) {
    place.replaceChildren();
    const last = steps.length - 1;
    if (step < 0) {
      make(place, "button", "Lesson: oversmoothing in " + steps.length + " steps", {id: "lesson-next", onclick: () => go(place, steps, 0)});
      return;
    }
    const [title, , words] = steps[step];
    make(place, "h2", step + 1 + " of " + steps.length + ". " + title, {tabIndex: -1});
    make(place, "p", words.trim(), {id: "lesson-words"}).setAttribute("role", "status");
    const row = make(place, "div", "", {className: "row"});
    make(row, "button", "Back", {id: "lesson-back", disabled: step === 0, onclick: () => go(place, steps, step - 1)});
    make(row, "button", "Show again", {onclick: () => go(place, steps, step)});
    if (step < last) make(row, "button", "Next", {id: "lesson-next", onclick: () => go(place, steps, step + 1)});
    make(row, "button", "End", {id: "lesson-end", onclick: () => go(place, steps, -1)});
  }

  function go(place, steps, to) {
    step = to;
    build(place, steps);
    if (step < 0) return;
    // a comment that changes, so that the page takes notice of the same address
    const query = steps[step][1].trim();
    window.dash_clientside.set_props("url", {search: ""});
    setTimeout(() => window.dash_clientside.set_props("url", {search: query}), 0);
    place.querySelector("h2").focus({preventScroll: true});
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.explorer = Object.assign(window.dash_clientside.explorer || {}, {
    lesson: function (steps) {
      const place = document.getElementById("lesson");
      if (place && !place.hasChildNodes()) build(place, steps);
      return window.dash_clientside.no_update;
    },
  });
})();
