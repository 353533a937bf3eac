/* Inputs to try the models on, as they are in their files. */
  .section .rodata.samples, "a", %progbits
  .balign 16
  .global image_npy
image_npy:
  .incbin IMAGE_FILE
#ifdef SOUND_FILE
  .balign 16
  .global sound_npy
sound_npy:
  .incbin SOUND_FILE
#endif
