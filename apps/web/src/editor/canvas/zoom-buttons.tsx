import { useStore } from "@xyflow/react";
import { Maximize, Minus, Plus } from "lucide-react";
import { Button } from "../../ui/button.tsx";
import { type View, zoomLimits } from "./view.ts";

/** Zoom buttons. The current zoom is the button for 100 %. */
export function ZoomButtons({ view }: { view: View }) {
  const zoom = useStore(({ transform }) => transform[2]);
  return (
    <div
      className="absolute bottom-3 left-3 z-5 flex items-center rounded-md border bg-surface shadow-sm"
      role="group"
      aria-label="Zoom"
    >
      <Button
        look="quiet"
        small
        icon={<Minus />}
        aria-label="Zoom out"
        title="Zoom out (-)"
        disabled={zoom <= zoomLimits.least}
        onClick={() => view.zoomBy(-1)}
      />
      <Button
        look="quiet"
        small
        className="min-w-10 !px-0.5"
        title="Zoom to 100 % (0)"
        onClick={() => view.zoomTo(1)}
      >
        {Math.round(zoom * 100)} %
      </Button>
      <Button
        look="quiet"
        small
        icon={<Plus />}
        aria-label="Zoom in"
        title="Zoom in (+)"
        disabled={zoom >= zoomLimits.most}
        onClick={() => view.zoomBy(1)}
      />
      <Button
        look="quiet"
        small
        icon={<Maximize />}
        aria-label="Show all"
        title="Show all (1)"
        onClick={view.fit}
      />
    </div>
  );
}
