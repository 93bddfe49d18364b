import { type Browser, chromium } from "playwright-core";
import { findChromium } from "./chromium.ts";

// A page is alone on the machine: whatever would call home is off.
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the machine's Chromium without a window. */
export async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no Chromium: apt-get install chromium, or set CHROMIUM");
  return await chromium.launch({ executablePath, args: quiet });
}
