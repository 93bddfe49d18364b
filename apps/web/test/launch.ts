import { type Browser, type BrowserServer, chromium } from "playwright-core";
import { findChromium } from "./chromium.ts";

function options() {
  const executablePath = findChromium();
  if (!executablePath)
    throw new Error("no Chromium found: apt-get install chromium, or set CHROMIUM");
  // Chromium must not use the network.
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  return { executablePath, args };
}

/** A headless browser: a session of the server at `TEST_BROWSER`, or a new Chromium. */
export const launch = (): Promise<Browser> =>
  process.env.TEST_BROWSER
    ? chromium.connect(process.env.TEST_BROWSER)
    : chromium.launch(options());

/** Starts a Chromium that several processes share. The caller handles signals. */
export const launchServer = (): Promise<BrowserServer> =>
  chromium.launchServer({
    ...options(),
    ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
  });
