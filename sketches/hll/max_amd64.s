//go:build !purego

#include "textflag.h"

// func maxAVX2(d, s *registers)
TEXT ·maxAVX2(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), DI
	MOVQ s+8(FP), SI
	MOVQ $128, CX

avx2:
	VMOVDQU (DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3
	VPMAXUB (SI), Y0, Y0
	VPMAXUB 32(SI), Y1, Y1
	VPMAXUB 64(SI), Y2, Y2
	VPMAXUB 96(SI), Y3, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ    $128, DI
	ADDQ    $128, SI
	DECQ    CX
	JNZ     avx2
	VZEROUPPER
	RET

// func max4AVX2(d, s0, s1, s2, s3 *registers)
TEXT ·max4AVX2(SB), NOSPLIT, $0-40
	MOVQ d+0(FP), DI
	MOVQ s0+8(FP), R8
	MOVQ s1+16(FP), R9
	MOVQ s2+24(FP), R10
	MOVQ s3+32(FP), R11
	XORQ CX, CX

avx2x4:
	VMOVDQU (DI)(CX*1), Y0
	VMOVDQU 32(DI)(CX*1), Y1
	VMOVDQU (R8)(CX*1), Y2
	VMOVDQU 32(R8)(CX*1), Y3
	VPMAXUB (R9)(CX*1), Y0, Y0
	VPMAXUB 32(R9)(CX*1), Y1, Y1
	VPMAXUB (R10)(CX*1), Y2, Y2
	VPMAXUB 32(R10)(CX*1), Y3, Y3
	VPMAXUB (R11)(CX*1), Y0, Y0
	VPMAXUB 32(R11)(CX*1), Y1, Y1
	VPMAXUB Y2, Y0, Y0
	VPMAXUB Y3, Y1, Y1
	VMOVDQU Y0, (DI)(CX*1)
	VMOVDQU Y1, 32(DI)(CX*1)
	ADDQ    $64, CX
	CMPQ    CX, $16384
	JNE     avx2x4
	VZEROUPPER
	RET

// Three bytes are four registers. Each lane takes twelve bytes; the shuffle
// copies them into words so that every word has two registers in its low or
// its high twelve bits, and the multiplication moves the low ones up.
DATA unpackShuffle<>+0(SB)/8, $0x0908080706050504
DATA unpackShuffle<>+8(SB)/8, $0x0f0e0e0d0c0b0b0a
DATA unpackShuffle<>+16(SB)/8, $0x0908080706050504
DATA unpackShuffle<>+24(SB)/8, $0x0f0e0e0d0c0b0b0a
GLOBL unpackShuffle<>(SB), RODATA|NOPTR, $32

DATA unpackUp<>+0(SB)/8, $0x0001001000010010
DATA unpackUp<>+8(SB)/8, $0x0001001000010010
DATA unpackUp<>+16(SB)/8, $0x0001001000010010
DATA unpackUp<>+24(SB)/8, $0x0001001000010010
GLOBL unpackUp<>(SB), RODATA|NOPTR, $32

DATA unpackLow<>+0(SB)/8, $0x003f003f003f003f
DATA unpackLow<>+8(SB)/8, $0x003f003f003f003f
DATA unpackLow<>+16(SB)/8, $0x003f003f003f003f
DATA unpackLow<>+24(SB)/8, $0x003f003f003f003f
GLOBL unpackLow<>(SB), RODATA|NOPTR, $32

// UNPACK reads 24 bytes at off(SI) (and four before them) and raises the 32
// registers at out(DI).
#define UNPACK(off, out, X, Y, Z) \
	VMOVDQU     (off-4)(SI), X;          \
	VINSERTI128 $1, (off+8)(SI), Y, Y;   \
	VPSHUFB     Y12, Y, Y;               \
	VPMULLW     Y13, Y, Y;               \
	VPSRLW      $4, Y, Z;                \
	VPSRLW      $10, Y, Y;               \
	VPAND       Y14, Z, Z;               \
	VPSLLW      $8, Y, Y;                \
	VPOR        Y, Z, Z;                 \
	VPMAXUB     out(DI), Z, Z;           \
	VMOVDQU     Z, out(DI)

// func maxPackedAVX2(d *registers, b *byte)
TEXT ·maxPackedAVX2(SB), NOSPLIT, $0-16
	MOVQ    d+0(FP), DI
	MOVQ    b+8(FP), SI
	VMOVDQU unpackShuffle<>(SB), Y12
	VMOVDQU unpackUp<>(SB), Y13
	VMOVDQU unpackLow<>(SB), Y14
	MOVQ    $128, CX

packed:
	UNPACK(0, 0, X0, Y0, Y4)
	UNPACK(24, 32, X1, Y1, Y5)
	UNPACK(48, 64, X2, Y2, Y6)
	UNPACK(72, 96, X3, Y3, Y7)
	ADDQ $96, SI
	ADDQ $128, DI
	DECQ CX
	JNZ  packed
	VZEROUPPER
	RET
