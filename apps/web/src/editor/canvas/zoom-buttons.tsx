import { useStore } from "@xyflow/react";
import { Maximize, Minus, Plus } from "lucide-react";
import { IconButton } from "../../ui/icon-button.tsx";
import { type View, zoomLimits } from "./view.ts";

/** Zoom buttons. The current zoom is the button for 100 %. */
export function ZoomButtons({ view }: { view: View }) {
  const zoom = useStore(({ transform }) => transform[2]);
  const { least, most } = zoomLimits;
  const percent = `${Math.round(zoom * 100)} %`;
  const buttons = [
    ["Zoom out", "Zoom out (-)", <Minus />, zoom <= least, () => view.zoomBy(-1)],
    [percent, "Zoom to 100 % (0)", percent, false, () => view.zoomTo(1)],
    ["Zoom in", "Zoom in (+)", <Plus />, zoom >= most, () => view.zoomBy(1)],
    ["Show all", "Show all (1)", <Maximize />, false, view.fit],
  ] as const;
  return (
    <div
      className="absolute bottom-3 left-3 z-5 flex items-center rounded-md border bg-surface shadow-sm"
      role="group"
      aria-label="Zoom"
    >
      {buttons.map(([label, title, icon, isDisabled, onClick]) => (
        <IconButton
          key={title}
          className="min-w-8"
          icon={icon}
          label={label}
          title={title}
          disabled={isDisabled}
          onClick={onClick}
        />
      ))}
    </div>
  );
}
