// Runs before the first paint, and before the console's code has loaded.

// What was chosen in this browser.
try {
  for (const [key, values] of [
    ["theme", ["light", "dark"]],
    ["density", ["compact"]],
  ]) {
    const value = localStorage.getItem(key);
    if (values.includes(value)) document.documentElement.dataset[key] = value;
  }
} catch {}

// The first request of the list, as src/lib/request.ts sends it.
if (location.pathname === "/" && location.search === "") {
  const url = "/api/threads?limit=12";
  const response = fetch(url);
  response.catch(() => {});
  globalThis.early = { url, response };
}
