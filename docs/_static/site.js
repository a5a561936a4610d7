// Copy buttons that take the input without prompts and output, and figures that open large. Nothing is fetched.
"use strict";

// What to copy: of a session the lines after its prompts, of anything else all of it.
function source(block) {
  const lines = block.textContent.split("\n");
  const prompt = /^(>>>|\.\.\.|\$)( |$)/;
  const input = lines.filter((line) => prompt.test(line)).map((line) => line.replace(prompt, ""));
  return input.length && prompt.test(lines[0]) ? input.join("\n") : block.textContent.trimEnd();
}

function addCopyButton(block) {
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source(block));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.parentElement.append(button);
}

function openLarge(image) {
  const link = document.createElement("a");
  link.className = "large";
  link.href = image.src;
  image.replaceWith(link);
  link.append(image);
}

document.addEventListener("DOMContentLoaded", () => {
  if (navigator.clipboard) document.querySelectorAll("div.highlight pre").forEach(addCopyButton);
  document.querySelectorAll("article img").forEach((image) => image.closest("a") || openLarge(image));
});
