import { type LayoutTask, layoutOf } from "../../ui/layout.ts";

addEventListener("message", ({ data }: MessageEvent<LayoutTask>) => {
  postMessage(layoutOf(data), []);
});
