import { launch } from "../../apps/web/test/launch.ts";
import { type Loaded, loadOf, slow } from "../../apps/web/test/paint.ts";
import { type Sample, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { serveRoot } from "../serve.ts";
import { fillStore, makeStore } from "../store.ts";

const html = { headers: { "Content-Type": "text/html" } };
const floorIs = "a page of one line";

/**
 * Time from the first request of a browser with an empty cache until the list of threads is rendered, with 100,000
 * threads in the storage root; the same at 400 kbit/s with 100 ms of latency, with the first paint and the compressed
 * bytes of the first view. The floor is a page of one line from a bare server.
 */
export const firstPage: Row = {
  name: "firstPage",
  async measure({ folder, command }) {
    const browser = await launch();
    const store = await makeStore(folder);
    fillStore(store, 100_000);
    // Builds the index, as a server does in the background.
    await store.host.summary({});
    const served = await serveRoot(await command(), store.folder);
    const bare = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("<p>one line</p>", html),
    });
    try {
      const url = `http://127.0.0.1:${served.port}/?token=${served.token}`;
      const floor = (on?: typeof slow) =>
        loadOf(browser, `http://127.0.0.1:${bare.port}/`, "p", on);
      const ours = (on?: typeof slow) => loadOf(browser, url, "[data-index]", on);
      await alternately(1, floor, ours);
      const fast = await alternately(9, floor, ours);
      const late = await alternately(
        5,
        () => floor(slow),
        () => ours(slow),
      );
      const of = (all: Loaded[][], name: keyof Loaded) =>
        all.map((some) => sampleOf(some.map((one) => one[name]))) as [Sample, Sample];
      const list = "the console's list of 100,000 threads";
      const texts = { unit: "ms", floorIs };
      return [
        line(
          { ...texts, what: `${list} is rendered`, target: { most: 1000 } },
          of(fast, "shownMs"),
        ),
        line(
          { ...texts, what: "first paint at 400 kbit/s", target: { most: 1000 } },
          of(late, "paintMs"),
        ),
        line(
          { ...texts, what: "first rows at 400 kbit/s", target: { most: 3000 } },
          of(late, "shownMs"),
        ),
        line(
          { what: "received before the first rows", unit: "KB", floorIs, target: { most: 200 } },
          of(late, "kb"),
        ),
      ];
    } finally {
      await browser.close();
      served.stop();
      await bare.stop(true);
    }
  },
};

type Take = () => Promise<Loaded>;

/** Loads both pages alternately, so that other work on the machine affects both. */
async function alternately(times: number, floor: Take, ours: Take): Promise<[Loaded[], Loaded[]]> {
  const found: [Loaded[], Loaded[]] = [[], []];
  for (let n = 0; n < times; n += 1) {
    found[0].push(await floor());
    found[1].push(await ours());
  }
  return found;
}
