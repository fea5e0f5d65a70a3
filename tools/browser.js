// Opens pages in Chromium: node browser.js FOLDER PAGE..., in a folder with playwright-core and axe-core. Prints a line a finding.
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [out, ...pages] = process.argv.slice(2);

const overflow = () => {
  const wide = [...document.querySelectorAll("body *")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width && box.right > document.documentElement.clientWidth + 1 && !each.closest("[role=region]");
  });
  return wide.slice(0, 3).map((each) => each.outerHTML.slice(0, 120));
};

const cut = () =>
  [...document.querySelectorAll("code, pre, td, th, p, dd")]
    .filter((each) => each.getClientRects().length && each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline")
    .slice(0, 3)
    .map((each) => each.outerHTML.slice(0, 120));

async function look(browser, file, width, colorScheme) {
  const name = path.basename(file, ".html");
  const say = (what, ...more) => console.log([name, width, colorScheme, what, ...more].join(" | "));
  const options = { viewport: { width, height: 900 }, colorScheme };
  const strict = await browser.newContext(options);
  const page = await strict.newPage();
  page.on("console", (message) => say("console", message.text()));
  page.on("pageerror", (error) => say("error", error.message));
  page.on("dialog", (dialog) => (say("dialog", dialog.message()), dialog.dismiss()));
  page.on("request", (request) => request.url().startsWith("file:") || request.url() === "data:," || say("request", request.url()));
  const begun = Date.now();
  await page.goto("file://" + file);
  if (Date.now() - begun > 10000) say("slow", Date.now() - begun);
  if (await page.evaluate(() => window.ran)) say("hostile text ran");
  await page.screenshot({ path: path.join(out, `${name}-${width}-${colorScheme}.png`) });
  const changes = await page.locator(".hunk").count();
  if (changes && (await page.locator(".keys").count())) {
    await page.keyboard.press("n");
    await page.keyboard.press("n");
    await page.keyboard.press("p");
    const at = await page.evaluate(() => [...document.querySelectorAll(".hunk")].indexOf(document.activeElement));
    if (at !== 0) say("keys", `n n p leads to change ${at}`);
    await page.screenshot({ path: path.join(out, `${name}-${width}-${colorScheme}-change.png`) });
  }
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  for (const found of await page.evaluate(overflow)) say("overflow", found);
  for (const found of await page.evaluate(cut)) say("cut off", found);
  await strict.close();
  if (changes > 100) return; // the same elements as in a small page, and axe takes minutes for them
  const relaxed = await browser.newContext({ ...options, bypassCSP: true }); // for axe itself
  const other = await relaxed.newPage();
  await other.goto("file://" + file);
  await other.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  await other.evaluate(axe);
  for (const { id, nodes } of (await other.evaluate(() => axe.run())).violations) say("axe", id, nodes.length, nodes[0].html.slice(0, 160));
  await relaxed.close();
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  for (const file of pages)
    for (const colorScheme of ["light", "dark"]) for (const width of [390, 768, 1280]) await look(browser, file, width, colorScheme);
  const context = await browser.newContext({ javaScriptEnabled: false });
  for (const file of pages) {
    const page = await context.newPage();
    await page.goto("file://" + file);
    await page.pdf({ path: path.join(out, `${path.basename(file, ".html")}.pdf`), format: "A4", printBackground: true });
    await page.close();
  }
  await browser.close();
  console.log("looked");
})();
