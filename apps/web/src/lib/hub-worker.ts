import { Hub } from "./hub.ts";

const hub = new Hub();

addEventListener("connect", (event) => {
  for (const port of (event as MessageEvent).ports) hub.add(port);
});
