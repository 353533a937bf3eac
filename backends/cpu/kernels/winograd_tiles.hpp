// Where the tiles of Winograd's convolutions lie, whatever their numbers are.
#pragma once

namespace tenon::cpu {

/// Says where a tile's outputs begin.
struct TileOrigin {
  int image;
  int row;
  int column;
};

/// Of tile `tile`, counted row by row, image by image, of images of `rows` by `columns` tiles with
/// `outputs` by `outputs` outputs each.
inline TileOrigin TileOriginOf(int tile, int rows, int columns, int outputs) {
  const int in_image = rows * columns;
  return {tile / in_image, tile % in_image / columns * outputs, tile % columns * outputs};
}

}  // namespace tenon::cpu
