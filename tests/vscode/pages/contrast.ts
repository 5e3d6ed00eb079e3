// Contrast of texts as they are drawn, by the formula of WCAG 2: 1 for none, 21 for black on white.
import type { Locator } from '@playwright/test';

/** Returns the contrast of each text with what is behind it. */
export function contrasts(texts: Locator): Promise<number[]> {
  return texts.evaluateAll((elements) => {
    type Color = [r: number, g: number, b: number, a: number];
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!;
    const read = (css: string): Color => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      const [r = 0, g = 0, b = 0, a = 0] = canvas.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    };
    const over = (top: Color, below: Color): Color => {
      const mix = (at: 0 | 1 | 2) => top[at] * top[3] + below[at] * (1 - top[3]);
      return [mix(0), mix(1), mix(2), 1];
    };
    const luminance = ([r, g, b]: Color) => {
      const linear = [r, g, b].map((part) => {
        const value = part / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
    };
    // a web view is drawn over the editor's background
    const behindAll = read(getComputedStyle(document.documentElement).getPropertyValue('--vscode-editor-background') || 'white');
    return elements.map((element) => {
      const behind: Color[] = [];
      let opacity = 1;
      for (let at: Element | null = element; at !== null; at = at.parentElement) {
        const style = getComputedStyle(at);
        behind.push(read(style.backgroundColor));
        opacity *= Number(style.opacity);
      }
      const background = behind.reduceRight<Color>((below, color) => over(color, below), behindAll);
      const [r, g, b, a] = read(getComputedStyle(element).color);
      const [light = 0, dark = 0] = [over([r, g, b, a * opacity], background), background].map(luminance).sort((x, y) => y - x);
      return (light + 0.05) / (dark + 0.05);
    });
  });
}
