import { Keyboard } from "lucide-react";
import { density, theme } from "../ui/appearance.ts";
import { MenuAt, MenuChoice, MenuGroup, MenuItem } from "../ui/menu.tsx";
import { sentence } from "../ui/states.tsx";

type Props = {
  anchor: () => HTMLElement | null;
  isOpen: boolean;
  onClose: () => void;
  onKeys: () => void;
};

/** The menu of the theme, the density and the keys. */
export function AppearanceMenu({ anchor, isOpen, onClose, onKeys }: Props) {
  const current = { theme: theme.use(), density: density.use() };
  return (
    <MenuAt
      anchor={anchor}
      label="Appearance"
      isOpen={isOpen}
      onClose={onClose}
      onClosed={() => {}}
    >
      <MenuGroup label="Theme">
        {theme.values.map((value) => (
          <MenuChoice
            key={value}
            isOn={value === current.theme}
            stays
            onClick={() => theme.set(value)}
          >
            {sentence(value)}
          </MenuChoice>
        ))}
      </MenuGroup>
      <MenuGroup label="Density">
        {density.values.map((value) => (
          <MenuChoice
            key={value}
            isOn={value === current.density}
            stays
            onClick={() => density.set(value)}
          >
            {sentence(value)}
          </MenuChoice>
        ))}
      </MenuGroup>
      <MenuGroup label="Help">
        <MenuItem icon={<Keyboard />} onClick={onKeys}>
          Keys
        </MenuItem>
      </MenuGroup>
    </MenuAt>
  );
}
