import { type LayoutTask, layoutOf } from "../../ui/layout.ts";

addEventListener("message", ({ data }: MessageEvent<{ id: number; task: LayoutTask }>) => {
  postMessage({ id: data.id, result: layoutOf(data.task) }, []);
});
